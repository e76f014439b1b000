"""Output that a page quotes is what streambed prints: the same lines, made of the same values."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from streambed import artifacts
from streambed.cli import details, query, studies
from streambed.cli.live_view import Happenings, headline
from streambed.cli.options import show_end
from streambed.declare import reading
from streambed.kinds.checks import Latency, NoLoss
from streambed.plan import Plan
from streambed.planner.planner import plan_for
from streambed.record import fidelity
from streambed.record.event_log import line_of
from streambed.record.events import (
    ControllerChanged,
    Drained,
    Event,
    Heal,
    Inject,
    LeaderChanged,
    Phase,
)
from streambed.record.fidelity import Fidelity
from streambed.record.history import History, Verdict
from streambed.record.status import begin, conclude
from streambed.results import runs
from streambed.results.runs import Run
from streambed.results.why.journey import Journey, Truncation
from streambed.results.why.record_name import RecordName
from streambed.results.why.steps import (
    Acked,
    Due,
    FaultActive,
    InLog,
    LeaderMoved,
    NotRead,
    OnBroker,
    Sent,
)
from tests.support.code_blocks import block
from tests.support.histories import acked, heal, history_of, inject, ns, seen
from tests.support.roomy_machine import MACHINE

BEGAN_NS = 10**9
READER = {"kind": "consumer", "node": "edge"}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(artifacts, "kafka_command", lambda *_, **__: ["java"])


def planned(text: str, folder: Path) -> Plan:
    (folder / "experiment.yaml").write_text(text)
    experiment = reading.read(folder / "experiment.yaml").experiment
    return plan_for(experiment, MACHINE, base=folder, directory=folder)


def event_lines(plan: Plan, *events: Event) -> list[str]:
    """What a run prints of these events; the times of events are since it began."""
    folder = Path(plan.directory) / "history"
    folder.mkdir()
    began = Phase(phase="build")
    shifted = [replace(event, time=BEGAN_NS + event.time) for event in (began, *events)]
    (folder / "events.jsonl").write_bytes(b"".join(map(line_of, shifted)))
    return list(Happenings(plan).new())[1:]


def end_lines(
    capsys: pytest.CaptureFixture[str], run: str, fidelity_says: str, *verdicts: Verdict
) -> list[str]:
    """What a run prints at its end."""
    done = Run(Path.cwd() / run)
    done.directory.mkdir(parents=True)
    begin(done.directory, os.getpid())
    conclude(done.directory, "finished", "")
    believed = Fidelity(believable=True, says=fidelity_says)
    show_end(done, list(verdicts), done.report, fidelity=believed)
    return capsys.readouterr().out.splitlines()


def lines_of(page: str, first_line: str) -> list[str]:
    return block(page, first_line).text.splitlines()


def within(ms: float, share: float) -> str:
    return fidelity.good_text(ms, share)


def shops() -> History:
    """Two shops sent 320 records each; the log lost some of those sent while rome was alone."""
    lost = {"shop-oslo=79", *(f"shop-rome={number}" for number in range(80, 252))}
    names = [f"{shop}={number}" for shop in ("shop-oslo", "shop-rome") for number in range(320)]
    # Offsets and times are of no interest here, but that lost records were sent during the fault.
    sent = [
        acked("orders", name, due=12.0 if name in lost else 8.0, offset=offset)
        for offset, name in enumerate(names)
    ]
    kept = [
        one
        for offset, name in enumerate(names)
        if name not in lost
        for one in (
            seen("orders", name, at=20, offset=offset),
            seen("orders", name, by="witness", at=30, offset=offset),
        )
    ]
    reader = {"reader": {**READER, "reads": ["orders"]}}
    return history_of(sent, kept, inject(10, "isolate"), heal(18, "isolate"), components=reader)


def test_the_output_of_the_readme_is_what_a_run_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(block("README.md", "version: 1").text, tmp_path)
    isolated = {"fault": 0, "kind": "isolate", "target": "rome (leader of orders/0)"}
    events = event_lines(
        plan,
        Phase(time=ns(6), phase="load"),
        Inject(time=ns(10), lasts_ns=ns(8), **isolated),
        ControllerChanged(time=ns(12), component="kafka", was="rome", now="oslo"),
        LeaderChanged(
            time=ns(15), component="kafka", topic="orders", partition=0, was="rome", now="oslo"
        ),
        Heal(time=ns(18), **isolated),
        Drained(time=ns(25), seconds=3.3),
    )
    verdict = NoLoss(topic="orders").judge(shops())
    run = "runs/leader/20261118-022605"

    printed = [headline(plan), *events, *end_lines(capsys, run, within(0.54, 0.11), verdict)]

    assert printed == lines_of("README.md", printed[0])


def test_the_first_output_of_the_first_hour_is_what_a_run_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = [f"poet={number}" for number in range(500)]
    history = history_of(
        [acked("lines", name) for name in names],
        [seen("lines", name) for name in names],
        components={"reader": {**READER, "reads": ["lines"]}},
    )
    verdict = NoLoss(topic="lines").judge(history)

    printed = end_lines(capsys, "runs/first/20261118-022650", within(0.047, 0.0024), verdict)

    assert printed == lines_of("docs/first-hour.md", printed[0])


def late_readers() -> History:
    """The reader is late for the records of the cut, the job for all."""
    sent, read = [], []
    for number in range(2000):
        during = number >= 1900
        due = 27.0 if during else 10.0
        name = f"poet={number}"
        sent.append(acked("lines", name, due=due))
        read.append(seen("lines", name, at=due + (4.28 if during else 0.05)))
        took = 8.05 if number < 1100 else 12.2 if number < 1990 else 12.3
        read.append(seen("lines", name, by="shout", at=due + took))
    components = {name: {**READER, "reads": ["lines"]} for name in ("reader", "shout")}
    return history_of(sent, read, inject(27, "cut"), heal(30, "cut"), components=components)


def test_the_second_output_of_the_first_hour_is_what_a_run_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shout.py").write_text("")
    plan = planned(block("README.md", "version: 1").text, tmp_path)
    cut = {"fault": 0, "kind": "cut", "target": "edge – core"}
    events = event_lines(
        plan,
        Inject(time=ns(27), lasts_ns=ns(3), **cut),
        Heal(time=ns(30), **cut),
        Drained(time=ns(38), seconds=5.3),
    )
    history = late_readers()
    checks = [
        NoLoss(topic="lines"),
        Latency(of="reader", p99="1500ms"),
        Latency(of="shout", p99="60s"),
    ]
    verdicts = [check.judge(history) for check in checks]

    printed = [*events, *end_lines(capsys, "runs/shout", within(0.1, 0.051), *verdicts)[:-1]]

    assert printed == lines_of("docs/first-hour.md", printed[0].strip())


def test_the_table_of_the_first_hour_is_what_a_study_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    key = "topology.links.0.delay"
    rows = [("5ms", 0.0273, 0.0252, 0.0294), ("20ms", 0.0825, 0.069, 0.0961)]
    summary = pl.DataFrame(
        [
            {key: delay, "measure": "median", "mean": mean, "low": low, "high": high}
            for delay, mean, low, high in rows
        ]
    ).with_columns(unit=pl.lit("s"), n=pl.lit(2), trials=pl.lit(2))
    study = SimpleNamespace(keys=lambda: [key], label=lambda name: name)
    result: Any = SimpleNamespace(
        failures={},
        doubts=dict,
        declared=SimpleNamespace(study=study),
        summary=lambda: summary,
        verdicts=lambda: [Verdict(check="no_loss", answer="holds", says="")],
        finished=["a", "b", "c", "d"],
        not_holding=dict,
        interrupted=False,
        folder=Path("runs/delays"),
    )

    studies.show(result, None, Path("study.yaml"))

    printed = capsys.readouterr().out.splitlines()[:-1]
    assert printed == lines_of("docs/first-hour.md", printed[0])


def test_the_journey_of_the_page_is_what_why_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    journey = Journey(
        record=RecordName(producer="scribe", sequence=2000),
        steps=(
            FaultActive(time=ns(3.053), fault="isolate"),
            Due(time=ns(6.717), producer="scribe"),
            Sent(time=ns(6.717), late_ns=200_000),
            Acked(
                time=ns(6.723),
                topic="plain",
                partition=0,
                offset=2000,
                leader="b1",
                epoch=0,
                in_sync=("b1", "b2", "b3"),
            ),
            LeaderMoved(time=ns(12.526), topic="plain", partition=0, leader="b2", epoch=1),
            InLog(places=()),
            OnBroker(broker="b1", epoch=1, same=False),
            NotRead(reader="reader", where="lost in the log"),
        ),
        mechanism=Truncation(old_leader="b1", old_epoch=0, new_leader="b2", new_epoch=1),
    )
    run = SimpleNamespace(why=lambda record: (journey, journey.lines(history_of())))
    monkeypatch.setattr(runs, "find", lambda name, into: run)

    details.why("latest", "scribe=2000")

    quoted = block("docs/results.md", "scribe=2000").text
    assert capsys.readouterr().out == quoted.replace("and b1\ncut", "and b1 cut")


def test_the_sentences_of_fidelity_are_what_a_run_prints() -> None:
    good, doubtful = lines_of(
        "docs/results.md",
        "fidelity  BELIEVED links were within 0.14 ms and 2.9 % of what was declared",
    )
    doubts = [fidelity.Doubt(ns(1), ns(3), "late", 0.83e9)]
    (span,) = fidelity.merge_doubts(doubts)
    history = history_of()
    why = fidelity.doubtful_text(
        replace(history, events=(Phase(phase="load"), Phase(time=ns(11), phase="stop"))),
        (span,),
        span.says,
        "…",
    )

    assert good == f"fidelity  BELIEVED {within(0.14, 0.029)}"
    assert doubtful == f"fidelity  DOUBTFUL {why}"


def test_the_table_of_the_ships_is_what_query_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ships = pl.DataFrame(
        [
            ("BERGEN", "cargo", 9),
            ("ALESUND", "cargo", 7),
            ("BERGEN", "leisure", 7),
            ("BERGEN", "other", 7),
            ("BERGEN", "service", 7),
        ],
        schema=["destination", "kind", "ships"],
        orient="row",
    )
    run = SimpleNamespace(query=lambda store, text: ships)
    monkeypatch.setattr(runs, "find", lambda name, into: run)

    query.query("latest", "db", "select …")

    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    quoted = lines_of("examples/maritime/README.md", "destination   kind      ships")
    assert [line for line in printed if line] == quoted
