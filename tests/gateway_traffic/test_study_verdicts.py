"""Verdicts of studies/gateways follow from the results: made-up tables for each outcome."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import polars as pl
import pytest

NOISE = (0.99, 1.0, 1.01)
"""Three repetitions that nearly agree."""
Row = dict[str, Any]
Load = Callable[[str], ModuleType]


@pytest.fixture(scope="module")
def load() -> Load:
    """Import a module of the studies by its name."""
    return lambda name: importlib.import_module(f"studies.gateways.{name}")


class Exact(float):
    """Not measured, so the same in all repetitions."""


def repeated(*rows: Row, noise: tuple[float, ...] = NOISE) -> pl.DataFrame:
    """Each row once for each repetition; what is a float is measured, so it varies."""

    def varied(value: Any, factor: float) -> Any:
        return (
            value * factor
            if type(value) is float
            else float(value)
            if isinstance(value, Exact)
            else value
        )

    # Points vary against each other: the first one up where the second one goes down.
    return pl.DataFrame(
        [
            {
                name: varied(value, noise[(place * (place + 1) + number) % len(noise)])
                for name, value in row.items()
            }
            | {"repetition": number}
            for number in range(len(noise))
            for place, row in enumerate(rows)
        ]
    )


def versions(*counter: float) -> list[Row]:
    seconds = [{"counter": time, "cumulative": 1.0, "rate": 1.0} for time in counter]
    return [
        {"version": version, "rate": rate, "batch_s": time}
        for rate, times in zip((450, 1200, 10000), seconds, strict=True)
        for version, time in times.items()
    ]


def serialisation(json_bytes: float, avro: float) -> list[Row]:
    forms = {"json.2": (json_bytes, 1.0), "avro.2": (90.0, avro)}
    return [
        {"encoding": name, "rate": 1200, "batch_s": time, "bytes_per_record": size}
        for name, (size, time) in forms.items()
    ]


def protocols(websocket: float, agreeing: float) -> list[Row]:
    most = {"per-connection": 1200.0, "keep-alive": 2500.0, "websocket": websocket}
    scheduled = [{"protocol": name, "scheduled": 600, "true": 600 * agreeing} for name in most]
    fastest = [{"protocol": name, "scheduled": 0, "true": rate} for name, rate in most.items()]
    return [row | {"acked": 600, "records": 600} for row in [*scheduled, *fastest]]


def partitions(two: float, three: float) -> list[Row]:
    seconds = {
        "1 partition": 2.0,
        "2 partitions": two,
        "3 partitions": three,
        "1, minPartitions 2": two,
        "1, minPartitions 3": three,
    }
    return [{"case": case, "rate": 10000, "batch_s": time} for case, time in seconds.items()]


def interval(last: float, shortest: float) -> list[Row]:
    seconds = {0.5: 0.5, 2.0: 1.0, 4.0: last}
    batches = [
        {"measure": "batch", "interval_s": Exact(length), "rate": 5000, "seconds": time}
        for length, time in seconds.items()
    ]
    made = [row | {"partitions": number} for row in batches for number in (1, 2)]
    exact = {"measure": "shortest", "interval_s": Exact(0), "rate": 1200}
    made += [
        exact | {"partitions": number, "seconds": Exact(shortest / number)} for number in (1, 2)
    ]
    return [row | {"tried": "0.5, 2"} for row in made]


def replicas(three_ms: float, lost: int) -> list[Row]:
    times = {1: 30.0, 3: three_ms}
    return [
        {"replicas": number, "acked": 6000, "lost": lost, "p50_ms": time, "p99_ms": 3 * time}
        for number, time in times.items()
    ]


def leader_death(longest_ms: float, lost: int) -> list[Row]:
    waits = {"1 replica": 6000.0, "3 replicas, 2 in sync": longest_ms}
    return [
        {"case": case, "acked": 6000, "lost": lost, "twice": 30, "longest_ms": time}
        for case, time in waits.items()
    ]


def dynamic(batch_s: float, latency_s: float) -> list[Row]:
    both = {0: (5.0, 6.0, 100_000), 1000: (batch_s, latency_s, 1000)}
    sizes = {"calm_per_s": 200, "spike_per_s": 3000}
    return [
        {
            "limit": limit,
            "longest_batch_s": batch,
            "latency_s": late,
            "largest_batch": size,
            "caught_up_s": 1.0,
        }
        | sizes
        for limit, (batch, late, size) in both.items()
    ]


def memory(small_s: float, collecting_s: float) -> list[Row]:
    seconds = {"512 MiB, serial": small_s, "2 GiB, serial": 1.0}
    return [
        {"case": case, "batch_s": time, "gc_s": collecting_s, "batches": 5, "records": 2000}
        for case, time in seconds.items()
    ]


def ingest_servers(more: float, unacknowledged: int) -> list[Row]:
    rates = {1: 1000.0, 3: more}
    return [
        {
            "protocol": protocol,
            "servers": servers,
            "acked_per_s": rate,
            "p99_ms": 5.0,
            "unacknowledged": unacknowledged,
        }
        for protocol in ("keep-alive", "websocket")
        for servers, rate in rates.items()
    ]


GOOD = {
    "versions": versions(0.7, 0.6, 0.5),
    "serialisation": serialisation(180.0, 1.0),
    "protocols": protocols(5000.0, 1.0),
    "partitions": partitions(1.5, 1.3),
    "interval": interval(1.7, 1.0),
    "replicas": replicas(40.0, 0),
    "leader_death": leader_death(3000.0, 0),
    "dynamic": dynamic(1.0, 9.0),
    "memory": memory(1.0, 0.2),
    "ingest_servers": ingest_servers(1500.0, 0),
}
BAD = {
    "versions": versions(1.1, 1.2, 1.3),
    "serialisation": serialisation(120.0, 1.5),
    "protocols": protocols(600.0, 0.7),
    "partitions": partitions(2.5, 3.0),
    "interval": interval(0.1, 4.0),
    "replicas": replicas(20.0, 3),
    "leader_death": leader_death(9000.0, 3),
    "dynamic": dynamic(8.0, 4.0),
    "memory": memory(2.0, 4.0),
    "ingest_servers": ingest_servers(700.0, 3),
}


def answers(load: Load, name: str, found: pl.DataFrame) -> list[str]:
    experiment = load(f"experiments.{name}")
    assert experiment.table(found).height > 1
    assert all(
        str(statement) in experiment.verdict(found) for statement in experiment.statements(found)
    )
    return [str(statement.answer) for statement in experiment.statements(found)]


@pytest.mark.parametrize("name", GOOD)
def test_what_was_measured_as_claimed_holds(load: Load, name: str) -> None:
    statements = answers(load, name, repeated(*GOOD[name]))

    assert set(statements) == {"Holds"}, statements


@pytest.mark.parametrize("name", BAD)
def test_what_was_measured_otherwise_does_not_hold(load: Load, name: str) -> None:
    statements = answers(load, name, repeated(*BAD[name]))

    assert statements.count("Does not hold") >= len(statements) / 2, statements


@pytest.mark.parametrize("name", GOOD)
def test_a_result_with_a_large_spread_is_undecided_and_is_not_explained(
    load: Load, name: str
) -> None:
    outcomes = load(f"experiments.{name}").statements(repeated(*GOOD[name], noise=(0.1, 1.0, 1.9)))

    unsure = [str(each) for each in outcomes if each.answer == "Cannot be told"]
    assert unsure
    assert not any("Likely because" in says for says in unsure)


@pytest.mark.parametrize("name", GOOD)
def test_one_repetition_tells_nothing(load: Load, name: str) -> None:
    assert set(answers(load, name, repeated(*GOOD[name], noise=(1.0,)))) == {"Cannot be told"}


def test_a_statement_shows_the_numbers_beside_the_range(load: Load) -> None:
    judging = load("judging")
    likely = {judging.Outcome.BELOW: "it is small", judging.Outcome.INSIDE: "it fits"}

    def said(*values: float) -> str:
        return str(judging.about("it is about 10", values, 10.0, "{:.0f}".format, likely))

    assert (
        said(10.0, 10.0, 10.0)
        == "- **Holds**: it is about 10: 10 (10 to 10); wanted 8 to 12. Likely because it fits."
    )
    assert (
        said(5.0, 5.0, 5.0) == "- **Does not hold**: it is about 10: 5 (5 to 5); wanted 8 to 12. "
        "Likely because it is small."
    )
    assert (
        said(15.0, 15.0, 15.0)
        == "- **Does not hold**: it is about 10: 15 (15 to 15); wanted 8 to 12."
    )
    assert (
        said(7.0, 10.0, 10.0)
        == "- **Cannot be told**: it is about 10: 9 (5 to 13); wanted 8 to 12."
    )
    assert (
        said(10.0) == "- **Cannot be told**: it is about 10: 10 in one repetition; wanted 8 to 12."
    )
    assert (
        str(judging.always("nothing is lost", [True, True, True]))
        == "- **Holds**: nothing is lost: in 3 of 3 repetitions."
    )
    assert (
        str(judging.always("nothing is lost", [True, False, True]))
        == "- **Does not hold**: nothing is lost: in 2 of 3 repetitions."
    )


def test_a_failed_experiment_does_not_affect_the_others(
    load: Load, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = load("run")
    assert run.ended([sys.executable, "-c", "raise SystemExit(3)"]) == 3
    monkeypatch.setattr(run, "ended", lambda command: "memory" in command)

    assert run.each_by_itself(["--quick"]) == 1
    output = capsys.readouterr().out
    assert "10 of 10: ingest_servers" in output
    assert output.endswith("min; failed: memory\n")


def test_the_quick_form_tells_its_own_sizes(load: Load) -> None:
    dynamic_says = load("experiments.dynamic").verdict(repeated(*GOOD["dynamic"]))
    interval_says = load("experiments.interval").verdict(repeated(*GOOD["interval"]))
    memory_says = load("experiments.memory").verdict(repeated(*GOOD["memory"]))

    assert (
        "A spike of 3,000/s in a stream of 200/s, a limit of 1,000 records a batch" in dynamic_says
    )
    assert "0.5, 2 s are searched" in interval_says
    assert "A batch of 2,000 *cumulative* records" in memory_says
