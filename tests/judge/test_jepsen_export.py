"""The export for Jepsen is EDN, each operation is invoked and completed, and nothing is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

from streambed.results.jepsen import history_lines
from tests.support.judge.correct_runs import correct_run
from tests.support.judge.stories import NOT_WRITTEN, UNKNOWN, Story

TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s,\[\]{}"]+')


def read_edn(text: str) -> Any:
    """Maps, vectors, strings, integers and keywords."""
    return _value(iter(TOKENS.findall(text)))


def _value(tokens: Iterator[str]) -> Any:
    token = next(tokens)
    if token == "[":
        return _until(tokens, "]")
    if token == "{":
        flat = _until(tokens, "}")
        return dict(zip(flat[::2], flat[1::2], strict=True))
    if token.startswith('"'):
        return token[1:-1]
    return token if token.startswith(":") else int(token)


def _until(tokens: Iterator[str], end: str) -> list[Any]:
    values = []
    for token in tokens:
        if token == end:
            return values
        values.append(_value(chain([token], tokens)))
    raise AssertionError(f"no {end}")


def operations(story: Story) -> list[dict[str, Any]]:
    return [read_edn(line) for line in history_lines(story.ledger())]


def test_a_send_and_a_poll_are_operations_with_places():
    story = Story().send("a=0", "1/5").assign("1/5").poll(("a=0", "1/5"))

    found = [(one[":f"], one[":type"], one[":value"]) for one in operations(story)]

    assert found == [
        (":send", ":invoke", [[":send", "lines/1", "a=0"]]),
        (":send", ":ok", [[":send", "lines/1", [5, "a=0"]]]),
        (":assign", ":invoke", ["lines/1"]),
        (":assign", ":ok", ["lines/1"]),
        (":poll", ":invoke", [[":poll"]]),
        (":poll", ":ok", [[":poll", {"lines/1": [[5, "a=0"]]}]]),
    ]


def test_a_failed_send_fails_and_an_unknown_one_is_info_and_ends_its_process():
    story = Story().send("a=0", outcome=NOT_WRITTEN).send("a=1", outcome=UNKNOWN).send("a=2", 0)

    ends = [one for one in operations(story) if one[":type"] != ":invoke"]

    assert [one[":type"] for one in ends] == [":fail", ":info", ":ok"]
    assert [one[":process"] for one in ends] == [0, 0, 1]


def test_a_transaction_is_one_operation():
    story = Story().send("a=0", 0, txn=1).send("a=1", 1, txn=1).transaction(1)

    (end,) = [one for one in operations(story) if one[":type"] == ":ok"]

    assert end[":f"] == ":txn"
    assert end[":value"] == [[":send", "lines/0", [0, "a=0"]], [":send", "lines/0", [1, "a=1"]]]


def test_a_new_life_is_a_crash_of_the_one_before():
    story = Story().life("a", 1, 0).send("a=0", 0).life("a", 2, 5).send("a=5", 1, life=2)

    found = [(one[":f"], one[":type"]) for one in operations(story)]

    assert found[2:4] == [(":crash", ":invoke"), (":crash", ":info")]


@pytest.mark.parametrize("seed", range(5))
def test_every_record_of_a_run_is_exported_and_no_process_does_two_things_at_once(seed):
    story = correct_run(seed)
    found = operations(story)

    sends = [part for one in found if one[":type"] != ":invoke" for part in one[":value"]]
    assert len([part for part in sends if part[0] == ":send"]) == len(story.rows["sent"])
    assert [one[":index"] for one in found] == list(range(len(found)))
    busy: set[int] = set()
    for one in found:
        process = one[":process"]
        assert (process in busy) == (one[":type"] != ":invoke")
        busy ^= {process}
