"""What a user sees during a run: one headline, a line for each event, current totals and rates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streambed.cli import live_view
from streambed.cli.live_view import Flow, Growing, Happenings, Output, headline
from streambed.plan import Plan, PlannedNode
from streambed.record import EVENTS
from streambed.record.event_log import line_of
from streambed.record.events import Clock, Event, Note, Phase, Ready
from streambed.record.gauges import Gauge, ProducerGauge, ReaderGauge, write_gauge
from streambed.results.runs import Run
from tests.support.bare_world import SECOND_NS, program, small_plan

KAFKA = {"kind": "kafka", "nodes": ["left", "right"], "topics": {"lines": {}}}
POET = {"kind": "producer", "node": "left", "writes": "lines"}
READER = {"kind": "consumer", "node": "right", "reads": ["lines"]}
PROGRAM = {"kind": "command", "node": "left", "argv": ["true"]}


def plan_of(directory: Path, *processes: Any, faults: int = 0, **components: Any) -> Plan:
    declaration = {
        "topology": {},
        "components": components,
        "faults": [{"kind": "kill"}] * faults,
    }
    for name in ("history", "logs", "gauges"):
        (directory / name).mkdir(exist_ok=True)
    return small_plan(directory, *processes, declaration=declaration, duration_ns=30 * SECOND_NS)


def happen(directory: Path, *events: Event) -> None:
    """Append events, the first at ten seconds and each a second later."""
    path = directory / "history" / EVENTS
    count = len(path.read_bytes().splitlines()) if path.exists() else 0
    with path.open("ab") as file:
        for number, event in enumerate(events, count):
            file.write(line_of(replace(event, time=(10 + number) * SECOND_NS)))


def rows(flow: Flow) -> list[tuple[str, ...]]:
    table = flow.table("load")
    return list(zip(*(column.cells for column in table.columns), strict=True))


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The time that the view believes, in nanoseconds."""
    times = [SECOND_NS]
    monkeypatch.setattr(live_view, "now_ns", lambda: times[0])
    return times


def test_the_headline_counts_hosts_brokers_and_faults(tmp_path):
    plan = plan_of(tmp_path, faults=1, kafka=KAFKA, poet=POET)
    switch = PlannedNode(name="core", switch=True, address="", routes=())

    assert headline(replace(plan, nodes=(*plan.nodes, switch))) == (
        "small: 2 hosts, 2 brokers, 1 fault, 30 s, seed 1"
    )


def test_the_headline_of_a_run_on_existing_clusters_has_no_hosts(tmp_path):
    plan = replace(plan_of(tmp_path, poet=POET), outside=True)

    assert headline(plan) == "small: outside any box, 0 faults, 30 s, seed 1"


def test_a_growing_file_gives_each_whole_line_once(tmp_path):
    path = tmp_path / "log"
    growing = Growing(path)
    assert growing.new() == []

    path.write_bytes(b"one\ntw")
    first = growing.new()
    path.write_bytes(b"one\ntwo\n\nthree\n")

    assert first == [b"one"]
    assert growing.new() == [b"two", b"", b"three"]
    assert growing.new() == []


def test_each_event_is_a_line_once_with_the_time_since_the_first(tmp_path):
    happenings = Happenings(plan_of(tmp_path))
    happen(tmp_path, Phase(phase="build"), Note(says="two runs share the CPU"))

    assert list(happenings.new())[1:] == ["  0:01 note     two runs share the CPU"]
    happen(tmp_path, Ready(component="kafka", seconds=4.25))
    assert list(happenings.new()) == ["  0:02 ready    kafka after 4.2 s"]
    assert list(happenings.new()) == []


def test_events_that_are_not_for_people_give_no_line_but_count_for_the_time(tmp_path):
    happenings = Happenings(plan_of(tmp_path))
    happen(tmp_path, Clock(wall_ns=1), Note(says="later"))

    assert list(happenings.new()) == ["  0:01 note     later"]


@pytest.mark.parametrize(
    ("phase", "says"),
    [
        ("build", "build    2 nodes, 0 wires, delays by delay line"),
        ("start", "start    1 process at once"),
        ("servers", "servers  waiting for servers"),
        ("ready", "ready    waiting for jobs and clients"),
        ("load", "load     for 30 s"),
        ("drain", "drain"),
    ],
)
def test_each_phase_says_what_is_done_in_it(tmp_path, phase, says):
    processes = [program("kafka"), program("late", starts="load")]
    happenings = Happenings(plan_of(tmp_path, *processes))
    happen(tmp_path, Phase(phase=phase))

    assert list(happenings.new()) == [f"  0:00 {says}"]
    assert happenings.phase == phase


def test_a_run_without_a_box_builds_no_wires(tmp_path):
    happenings = Happenings(replace(plan_of(tmp_path), outside=True))
    happen(tmp_path, Phase(phase="build"))

    assert list(happenings.new()) == ["  0:00 build    2 names for this machine"]


def test_output_is_shown_only_of_programs_that_ask_for_it(tmp_path):
    plan = plan_of(tmp_path, shown={**PROGRAM, "show": True}, quiet=PROGRAM)
    output = Output(plan)
    (tmp_path / "logs" / "shown.log").write_bytes(b"caf\xc3\xa9 \xff\nhalf")
    (tmp_path / "logs" / "quiet.log").write_bytes(b"nobody reads this\n")

    assert output.new() == ["shown | café \ufffd"]


def report(directory: Path, **gauges: Gauge) -> None:
    for agent, gauge in gauges.items():
        write_gauge(directory / "gauges" / f"{agent.replace('_', '.')}.json", gauge)


def test_totals_are_sums_over_the_agents_of_a_component(tmp_path, now):
    processes = [program(f"poet/{number}", component="poet") for number in (1, 2)]
    flow = Flow(Run(tmp_path), plan_of(tmp_path, *processes, poet=POET, kafka=KAFKA))
    report(tmp_path, poet_1=ProducerGauge(acked=10, failed=1), poet_2=ProducerGauge(acked=5))

    assert rows(flow) == [("poet", "15", "0", "1", "")]


def test_a_reader_has_a_lag_and_no_failures(tmp_path, now):
    flow = Flow(Run(tmp_path), plan_of(tmp_path, program("reader"), reader=READER))
    report(tmp_path, reader=ReaderGauge(seen=7, lag=3))

    assert rows(flow) == [("reader", "7", "0", "", "3")]


def test_an_agent_that_has_not_reported_has_counted_nothing(tmp_path, now):
    flow = Flow(Run(tmp_path), plan_of(tmp_path, program("poet"), poet=POET))

    assert rows(flow) == [("poet", "0", "0", "", "")]


def test_a_rate_is_measured_over_about_a_second_and_stands_until_the_next(tmp_path, now):
    flow = Flow(Run(tmp_path), plan_of(tmp_path, program("poet"), poet=POET))
    rates = []
    for after_ns, acked in ((0, 100), (SECOND_NS // 2, 400), (SECOND_NS // 2, 600), (1, 900)):
        now[0] += after_ns
        report(tmp_path, poet=ProducerGauge(acked=acked))
        rates.append(rows(flow)[0][2])

    assert rates == ["0", "0", "500", "500"]
