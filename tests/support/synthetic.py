"""Small histories, and one complete run directory, made by hand: nothing of this was ever
measured.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl

from streambed import plan as plans
from streambed import record
from streambed.kinds.declared_parts import components_of
from streambed.plan import Machine, Plan, PlannedLink, PlannedNode, Port, ProcessSpec, Shape
from streambed.record import tables
from streambed.record.event_log import line_of
from streambed.record.events import Event
from streambed.record.history import History, Ledger, empty
from streambed.record.ledger import schemas
from streambed.record.ledger.schemas import Outcome
from tests.support.synthetic_events import (
    BEGAN,
    BROKERS,
    SECOND,
    WALL,
    at,
    batch_of_the_counter,
    event,
    events_of_a_run,
)


def sample_table(*rows: tuple[float, str, str, float]) -> pl.DataFrame:
    """Samples of (seconds, metric, of, value)."""
    found = [(at(seconds), metric, of, value) for seconds, metric, of, value in rows]
    return pl.DataFrame(found, schema=empty(schemas.SAMPLES).schema, orient="row")


def sent(sequence: int, due: float, topic: str = "lines") -> tuple[Any, ...]:
    """A record that the poet sent and that was acked."""
    times = (at(due), at(due + 0.001), at(due + 0.01))
    return ("poet", sequence, topic, 0, sequence, *times, None, None, Outcome.WRITTEN, 1, None)


def seen(
    sequence: int, when: float, consumer: str, group: str | None = None, topic: str = "lines"
) -> tuple[Any, ...]:
    """A record of the poet that a consumer saw."""
    names = (consumer, group or consumer, topic)
    return (*names, 0, sequence, "poet", sequence, at(when), 0, None, 1, 1, None)


def history_of(
    *events: Event,
    samples: tuple[tuple[float, str, str, float], ...] = (),
    sent: tuple[tuple[Any, ...], ...] = (),
    seen: tuple[tuple[Any, ...], ...] = (),
    components: dict[str, dict[str, Any]] | None = None,
) -> History:
    """A history that began with the build."""
    ledger = Ledger(
        sent=pl.DataFrame(list(sent), schema=empty(schemas.SENT).schema, orient="row"),
        seen=pl.DataFrame(list(seen), schema=empty(schemas.SEEN).schema, orient="row"),
    )
    return History(
        events=(event(0, "phase", phase="build"), *events),
        samples=sample_table(*samples),
        ledger=ledger,
        declaration={"components": components or {}},
        components=components_of({"components": components or {}}),
    )


def plan_of(directory: Path = Path("run"), name: str = "word-count") -> Plan:
    """Five hosts around a switch."""
    hosts = ("edge", "cluster", *BROKERS)
    shapes = {
        "edge": Shape(delay_ns=20_000_000, jitter_ns=2_000_000, loss=0.01, rate_bps=10_000_000),
        "cluster": Shape(delay_ns=2_000_000, rate_bps=10**9),
    }
    links = [
        PlannedLink(
            name=f"{host}-core",
            ports=(
                Port(node=host, interface="eth0", index=0),
                Port(node="core", interface=f"eth{index}", index=index),
            ),
            shapes=(shapes.get(host, Shape()), shapes.get(host, Shape())),
            emulated=host in shapes,
        )
        for index, host in enumerate(hosts)
    ]
    nodes = [
        PlannedNode(name=host, switch=False, address=f"10.0.0.{index + 1}", routes=())
        for index, host in enumerate(hosts)
    ]
    runs = {"poet": "edge", "reader": "edge", "archive": "edge", "counter": "cluster"} | {
        broker: broker for broker in BROKERS
    }
    return Plan(
        name=name,
        seed=7,
        duration_ns=30 * SECOND,
        ready_limit_ns=60 * SECOND,
        drain_limit_ns=60 * SECOND,
        directory=str(directory),
        machine=Machine(cores=2, memory_mib=7900, kernel="6.6.1"),
        nodes=(*nodes, PlannedNode(name="core", switch=True, address="10.0.0.100", routes=())),
        links=tuple(links),
        processes=tuple(
            ProcessSpec(
                name=who, component="kafka" if who in BROKERS else who, node=where, argv=("true",)
            )
            for who, where in runs.items()
        ),
        declaration={"name": name, "seed": 7, "components": COMPONENTS},
    )


COMPONENTS: dict[str, dict[str, Any]] = {
    "kafka": {"kind": "kafka", "nodes": list(BROKERS), "topics": {"lines": {}, "counts": {}}},
    "poet": {"kind": "producer", "node": "edge", "writes": "lines", "rate": "200/s"},
    "counter": {
        "kind": "spark_job",
        "node": "cluster",
        "job": "count.py",
        "reads": ["lines"],
        "writes": ["counts"],
    },
    "reader": {
        "kind": "consumer",
        "node": "edge",
        "reads": ["lines", "counts"],
        "group": "readers",
    },
    "archive": {"kind": "consumer", "node": "edge", "reads": ["lines"], "group": "archive"},
}


def write_run(directory: Path, name: str = "word-count", load_s: int = 30) -> None:
    """A complete run directory: load from second 10, two faults, one unexpected death."""
    (directory / "history").mkdir(parents=True)
    (directory / "logs").mkdir()
    (directory / "logs" / "poet.log").write_text("ready\n")
    plans.write(plan_of(directory, name), directory / "plan.json")
    (directory / "status.json").write_text(json.dumps({"state": "finished", "reason": ""}))
    (directory / "versions.json").write_text(
        json.dumps({"streambed": "0.1.0", "kafka": "4.3.1", "spark": "4.1.1", "python": "3.11.4"})
    )
    (directory / "verdicts.json").write_text(json.dumps(VERDICTS))
    (directory / "history" / record.EVENTS).write_bytes(
        b"".join(map(line_of, events_of_a_run(load_s)))
    )
    _write_samples(directory / "history", load_s)
    _write_ledger(directory / "history", load_s)


VERDICTS = [
    {
        "check": "no_loss",
        "about": "lines",
        "answer": "fails",
        "brief": "3 of 6,000 acknowledged records of lines lost",
        "says": "3 of 6000 acked records were never seen: poet=1601–1603 (lost in the log)",
        "evidence": {
            "acked": 6000,
            "readers": {"readers": {"seen": 5997, "duplicates": 2}},
            "lost": [
                {
                    "producer": "poet",
                    "sequence": sequence,
                    "topic": "lines",
                    "part": "log",
                    "where": "lost in the log",
                    "during": "partition",
                    "before": "",
                }
                for sequence in (1601, 1602, 1603)
            ],
        },
    },
    {
        "check": "latency",
        "about": "reader",
        "answer": "holds",
        "brief": "latency of reader within its limits",
        "says": "reader p99 1.8 s, limit 2 s",
        "evidence": {
            "p50_ns": 40_000_000,
            "p99_ns": 1_812_300_000,
            "max_ns": None,
            "limits_ns": {"p99": 2 * SECOND},
            "records": 6000,
            "slack_ns": 187_700_000,
        },
    },
    {
        "check": "order",
        "answer": "unknown",
        "says": "archive never committed, so its order cannot be judged",
        "evidence": {},
    },
]


def _write_samples(folder: Path, load_s: int) -> None:
    chance = random.Random(7)
    totals: dict[tuple[str, str], float] = {}
    with tables.Table(folder / "samples.arrow", schemas.SAMPLES) as table:
        for second in range(1, load_s + 15):
            loaded, cut = 10 <= second < 10 + load_s, 18 <= second < 25
            for (metric, of), step in _steps(chance, loaded, cut).items():
                totals[metric, of] = totals.get((metric, of), 0) + step
                table.append(at(second), metric, of, totals[metric, of])
            for (metric, of), value in _levels(chance, second, loaded, cut).items():
                table.append(at(second), metric, of, value)


def _steps(chance: random.Random, loaded: bool, cut: bool) -> dict[tuple[str, str], float]:
    bytes_s = {
        "edge": 90_000,
        "cluster": 160_000,
        "broker1": 0 if cut else 120_000,
        "broker2": 130_000,
        "broker3": 140_000,
        "core": 500_000,
    }
    found = {}
    for node, rate in bytes_s.items():
        for metric in ("port_rx_bytes", "port_tx_bytes"):
            found[metric, f"{node}/eth0"] = rate * chance.uniform(0.8, 1.2) * loaded
    for who in ("conductor", "delay line", "poet", "reader", "archive", "counter", *BROKERS):
        found["process_cpu_s", who] = chance.uniform(0.02, 0.12) + (
            0.6 if who == "counter" and loaded else 0
        )
    found |= {
        ("sent_total", "poet"): 200 * loaded,
        ("acked_total", "poet"): (60 if cut else 200) * loaded,
        ("failed_total", "poet"): 0,
    }
    return found | {
        ("seen_total", who): (60 if cut else 200) * loaded for who in ("reader", "archive")
    }


def _levels(
    chance: random.Random, second: int, loaded: bool, cut: bool
) -> dict[tuple[str, str], float]:
    found = {
        ("lag_records", who): (140 * (second - 17) if cut else chance.uniform(0, 30)) * loaded
        for who in ("reader", "archive")
    }
    for index, who in enumerate(
        ("conductor", "delay line", "poet", "reader", "archive", "counter", *BROKERS)
    ):
        found["process_rss_bytes", who] = (60 + 40 * index) * 2**20 * (1 + second / 200)
    found["delay_line_late_mean_ns", "delay line"] = chance.uniform(30_000, 90_000)
    found["delay_line_late_max_ns", "delay line"] = chance.uniform(200_000, 900_000)
    return found


def _write_counts(table: tables.Table, load_s: int) -> None:
    """What Spark wrote just before each batch ended, as the reader saw it."""
    for number in range(load_s * 2 // 3 - 1):
        ended = batch_of_the_counter(number, 11.5 + 1.5 * number).end
        written_ms = (WALL + ended - BEGAN) // 1_000_000 - 20
        table.append(
            *("reader", "readers", "counts", 0, number),
            *(None, None, ended + SECOND // 20, written_ms, None, 1, 1, None),
        )


def _write_ledger(folder: Path, load_s: int) -> None:
    chance = random.Random(8)
    with (
        tables.Table(folder / "sent-poet.arrow", schemas.SENT) as sent_table,
        tables.Table(folder / "seen-reader.arrow", schemas.SEEN) as seen_table,
    ):
        for sequence in range(load_s * 200):
            due = 10 + sequence / 200
            sent_table.append(*sent(sequence, due))
            held = max(0.0, 25 - due) if 18 <= due < 25 else 0.0
            for consumer, group, slow in (
                ("reader", "readers", 0.04),
                ("archive", "archive", 0.09),
                ("witness", "witness", 40),
            ):
                if sequence not in (1601, 1602, 1603):
                    seen_table.append(
                        *seen(
                            sequence,
                            due + held + slow * chance.lognormvariate(0, 0.4),
                            consumer,
                            group,
                        )
                    )
        _write_counts(seen_table, load_s)
