"""What `streambed fetch` fetches for a kind or a file, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed import artifacts
from streambed.artifacts import Need, Progress, Step
from streambed.cli import machine
from streambed.errors import UsageError

EXPERIMENT = """
version: 1
name: first
duration: 1s
topology: {hosts: [a]}
components:
"""
STEPS = (
    Step(stage="check", what="jars"),
    Step(stage="download", what="org.example:one:1.0"),
    Step(stage="download", what="org.example:two:1.0"),
    Step(stage="make", what="making: a class archive"),
)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[Need]:
    """What was to be fetched; nothing is."""
    asked: list[Need] = []

    def fetch(needs: list[Need], on_progress: Progress) -> list[str]:
        asked.extend(needs)
        for step in STEPS:
            on_progress(step)
        return ["a note"]

    monkeypatch.setattr(artifacts, "fetch", fetch)
    return asked


def test_a_kind_is_fetched_by_what_it_needs(
    fetched: list[Need], capsys: pytest.CaptureFixture[str]
) -> None:
    machine.fetch(["spark_cluster"])

    assert fetched == ["spark_job"]
    assert capsys.readouterr().out == "spark_cluster: ready\n"


def test_a_kind_that_needs_nothing_says_so(
    fetched: list[Need], capsys: pytest.CaptureFixture[str]
) -> None:
    machine.fetch(["consumer", "kafka"])

    assert fetched == ["kafka"]
    assert capsys.readouterr().out == "consumer: needs nothing\nkafka: ready\n"


@pytest.mark.parametrize(
    ("components", "needs", "says"),
    [
        (
            "  kafka: {kind: kafka, nodes: [a]}\n  tool: {kind: command, node: a, argv: [echo]}\n",
            ["kafka"],
            "kafka: ready",
        ),
        ("  tool: {kind: command, node: a, argv: [echo]}\n", [], "first.yaml: needs nothing"),
    ],
)
def test_a_file_is_fetched_by_what_its_components_need(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fetched: list[Need],
    capsys: pytest.CaptureFixture[str],
    components: str,
    needs: list[Need],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first.yaml").write_text(EXPERIMENT + components)

    machine.fetch(["first.yaml"])

    assert fetched == needs
    assert capsys.readouterr().out == f"{says}\n"


def test_what_is_neither_a_kind_nor_a_file_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"'kafak' is neither a file nor a kind of component. Did you mean 'kafka'"
    ):
        machine.fetch(["kafak"])


def test_without_a_terminal_each_piece_of_work_has_a_line_and_no_jar_has(
    fetched: list[Need], capsys: pytest.CaptureFixture[str]
) -> None:
    machine.fetch(["kafka"])

    assert capsys.readouterr().err.splitlines() == [
        "checking jars",
        "fetching jars",
        "making: a class archive",
        "note: a note",
    ]
