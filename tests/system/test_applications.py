"""The applications in examples, each in a short form: a small load, a fault, the exact answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from streambed import Run
from tests.support.running import ROOT, streambed

pytestmark = [
    pytest.mark.system,
    pytest.mark.together(100),
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("store_servers"),
]
QUERY = re.compile('streambed query latest db "([^"]+)"')
NEEDS_TIME = {"recovers", "latency"}
"""A short load may be too short for these: they may be unknown."""


def letters_in_store(run: Run, queries: list[str]) -> int:
    """How many records have a dead letter, by the last query of the application's page."""
    by_reason = run.query("db", queries[-1])
    return int(by_reason["count"].sum())


@dataclass(frozen=True, kw_only=True)
class Application:
    """What is changed for the short form, and how many records it must reject."""

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    dead_letters: int
    count_letters: Callable[[Run, list[str]], int] = letters_in_store
    """Gets the queries of the application's page."""


APPLICATIONS = [
    Application(
        name="rides",
        settings={"duration": "16s", "faults.0.at": "8s"},
        dead_letters=253,
    ),
    Application(
        name="maritime",
        settings={"duration": "16s", "faults.0.at": "8s", "faults.0.lasts": "3s"},
        dead_letters=233,
    ),
    Application(
        name="sentiment",
        settings={"duration": "16s", "warm_up": "0s", "faults.0.at": "8s"},
        dead_letters=194,
    ),
]


def run_short(application: Application, folder: Path) -> dict[str, Any]:
    declaration = ROOT / "examples" / application.name / "experiment.yaml"
    changes = [f"{key}={value}" for key, value in application.settings.items()]
    words = [word for change in changes for word in ("--set", change)]
    done = streambed("run", declaration, *words, "--json", "--no-report", cwd=folder, limit_s=800)
    assert done.stdout, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def is_as_wanted(verdict: dict[str, Any]) -> bool:
    unknown = verdict["answer"] == "unknown" and verdict["check"] in NEEDS_TIME
    return unknown or verdict["answer"] == "holds"


@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda each: each.name)
def test_an_application_gives_the_exact_answer_in_spite_of_its_fault(application, tmp_path):
    summary = run_short(application, tmp_path)

    wrong = [verdict for verdict in summary["verdicts"] if not is_as_wanted(verdict)]
    assert wrong == []
    run = Run(Path(summary["run"]))
    queries = QUERY.findall((ROOT / "examples" / application.name / "README.md").read_text())
    assert all(run.query("db", query).height for query in queries[:-1])
    assert application.count_letters(run, queries) == application.dead_letters
