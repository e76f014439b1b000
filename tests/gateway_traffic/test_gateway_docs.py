"""docs/gateways.md says what the code does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from gateway_traffic.cli import app
from gateway_traffic.codecs import FIELDS
from gateway_traffic.ingest.admission import STATUS
from gateway_traffic.ingest.server import POSTS, SOCKETS
from gateway_traffic.records import (
    ENCODINGS,
    MAXIMUM,
    NEWEST_SCHEMA,
    SCHEMA_HEADER,
    Version,
    topic_of,
)

PAGE = (Path(__file__).parents[2] / "docs" / "gateways.md").read_text()
COMMANDS = [
    shlex.split(line, comments=True)
    for line in re.findall(r"^\$ gateway-traffic (.*)$", PAGE.replace("\\\n", ""), re.MULTILINE)
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_every_command_of_the_page_is_understood(words):
    group = typer.main.get_command(app)
    verb = group.get_command(None, words[0])  # type: ignore[attr-defined]
    verb.make_context(words[0], words[1:]).close()


def test_the_page_has_every_verb_field_encoding_topic_and_status():
    verbs = [f"gateway-traffic {name}" for name in typer.main.get_command(app).commands]  # type: ignore[attr-defined]
    fields = [*FIELDS[NEWEST_SCHEMA]]
    topics = (
        [topic_of(version) for version in Version]
        + [f"`{name}`" for name in ENCODINGS]
        + [f"Header `{SCHEMA_HEADER}`"]
    )
    statuses = [f"| {status} |" for status in STATUS.values()]
    codes = [
        f" {4000 + status} |"
        for flaw, status in STATUS.items()
        if flaw not in ("too_large", "encoding")
    ]
    words = (*verbs, *fields, *topics, *statuses, *codes)
    assert [word for word in words if word not in PAGE] == []
    assert MAXIMUM == 2**40 and "modulo 2^40" in PAGE


def test_the_page_says_where_to_send():
    assert all(
        path.replace(str(version), "VERSION") in PAGE for path, version in (POSTS | SOCKETS).items()
    )
