"""Time of all checks but `equals` over ten million records that two groups read.

    scripts/bench judge [--quick] [--records N]

The ledger is synthetic: four producers, eight partitions, two groups, a read-back, and nothing
wrong. A separate process judges it: `seconds` is the wall time from reading the run to the last
verdict, `cpu_s` its CPU time, `peak_gib` its largest memory. The last line is one JSON object.
`--quick`: 200,000 records.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._arguments import parser
from streambed import plan as plans
from streambed.plan import Machine, Plan
from streambed.record import now_ns
from streambed.record.ledger import broker_files, schemas
from streambed.record.status import begin, conclude
from streambed.results.runs import Run

PRODUCERS, PARTITIONS, TOPIC = 4, 8, "lines"
PIECE = 1_000_000
BATCH = 500
LOAD_NS = 40_000_000_000
FAULT_NS = (15_000_000_000, 16_000_000_000)
"""A fault that does no harm: `recovers` and `happens` need one."""
STEP_NS = 1_000
"""Time between two due records."""
GROUPS = ("counter", "reader")
NODES = ["one", "two"]
COMPONENTS: dict[str, Any] = {
    "kafka": {
        "kind": "kafka",
        "nodes": NODES,
        "topics": {TOPIC: {"partitions": PARTITIONS, "replicas": 2}},
    },
    "poet": {"kind": "producer", "node": "one", "writes": TOPIC, "each": PRODUCERS},
    **{name: {"kind": "consumer", "node": "two", "reads": [TOPIC]} for name in GROUPS},
}
CHECKS: list[dict[str, Any]] = [
    {"kind": "log", "topic": TOPIC},
    {"kind": "no_loss", "topic": TOPIC},
    *({"kind": "latency", "of": name, "p99": "1s", "max": "10s"} for name in GROUPS),
    {"kind": "available", "topic": TOPIC, "within": "1s"},
    *({"kind": "fresh", "of": name, "within": "1s"} for name in GROUPS),
    *(
        {"kind": kind, "topic": TOPIC, "to": name}
        for kind in ("at_least_once", "at_most_once", "exactly_once", "ordered")
        for name in GROUPS
    ),
    *({"kind": "recovers", "of": name, "within": "10s"} for name in GROUPS),
    {"kind": "happens", "what": "leader change", "during": "in flight"},
]


def pieces(records: int) -> Iterator[dict[str, Any]]:
    """The records in order of time; producers and partitions take turns."""
    for start in range(0, records, PIECE):
        number = np.arange(start, min(records, start + PIECE))
        sequence = number // PRODUCERS
        names = pa.array([f"poet/{one + 1}" for one in range(PRODUCERS)])
        turns = pa.array((number % PRODUCERS).astype("i1"))
        producer = pa.DictionaryArray.from_arrays(turns, names)
        yield {
            "number": number,
            "producer": producer.cast(pa.string()),
            "sequence": sequence,
            "partition": (sequence % PARTITIONS).astype("i4"),
            "offset": number // (PRODUCERS * PARTITIONS) * PRODUCERS + number % PRODUCERS,
            "time": number * (LOAD_NS // records),
        }


def table(schema: pa.Schema, rows: int, **columns: Any) -> pa.Table:
    """A table; each column is an array or one value for all rows."""
    made = []
    for field in schema:
        value = columns.get(field.name)
        if isinstance(value, np.ndarray | pa.Array):
            made.append(pa.array(value, field.type) if isinstance(value, np.ndarray) else value)
        else:
            made.append(pa.repeat(pa.scalar(value, field.type), rows))
    return pa.table(made, schema=schema)


def write(folder: Path, name: str, parts: Iterator[pa.Table]) -> None:
    """Write a table of the run in pieces."""
    path = folder / f"{name}.parquet"
    options = {"compression": "zstd", "write_page_checksum": True}
    with pq.ParquetWriter(path, schemas.TABLES[name], **options) as writer:
        for part in parts:
            writer.write_table(part)


def sent(records: int) -> Iterator[pa.Table]:
    for piece in pieces(records):
        time_ns = piece.pop("time")
        number = piece.pop("number")
        acked = time_ns + 5_000_000
        yield table(
            schemas.SENT, len(number), **piece, topic=TOPIC, due=time_ns, sent=time_ns + 10,
            acked=acked, outcome=0, life=1, key=number % 1000,
        )  # fmt: skip


def seen(records: int) -> Iterator[pa.Table]:
    for consumer in (*GROUPS, "witness"):
        for piece in pieces(records):
            time_ns, number = piece.pop("time"), piece.pop("number")
            late = 10**12 if consumer == "witness" else 20_000_000
            poll_ns = time_ns // 1_000_000 * 1_000_000 + late
            tenure = None if consumer == "witness" else piece["partition"] + 1
            yield table(
                schemas.SEEN, len(number), **piece, consumer=consumer, group=consumer, topic=TOPIC,
                seen=poll_ns, timestamp=0, life=1, tenure=tenure, key=number % 1000,
            )  # fmt: skip


def small_tables(records: int) -> dict[str, pa.Table]:
    """Lives of the producers, tenures and commits of the groups."""
    lives = [
        {"client": f"poet/{one + 1}", "life": 1, "began": 0, "first": 0} for one in range(PRODUCERS)
    ]
    assigned, commits = [], []
    for group in GROUPS:
        for partition in range(PARTITIONS):
            row = {"consumer": group, "group": group, "life": 1, "topic": TOPIC}
            row["partition"] = partition
            began = {"tenure": partition + 1, "time": 0, "change": "assigned", "offset": 0}
            assigned.append({**row, **began, "origin": "earliest"})
            end = records // PARTITIONS
            commits += [
                {**row, "offset": end * part // 10, "time": 10**13} for part in range(1, 10)
            ]
    rows = {"lives": lives, "assignments": assigned, "commits": commits, "transactions": []}
    return {name: pa.Table.from_pylist(found, schemas.TABLES[name]) for name, found in rows.items()}


def log_batches(records: int) -> pa.Table:
    """The batches in the files of both brokers: the same."""
    end = records // PARTITIONS
    firsts = np.arange(0, end, BATCH)
    rows = len(firsts)
    parts = [
        table(
            schemas.LOG_BATCHES, rows, broker=f"kafka/{node}", topic=TOPIC, partition=partition,
            first=firsts, last=np.minimum(firsts + BATCH, end) - 1, epoch=0, checksum=firsts + 1,
            records=BATCH, producer_id=1, producer_epoch=0, transactional=False, timestamp=0,
        )
        for node in NODES
        for partition in range(PARTITIONS)
    ]  # fmt: skip
    return pa.concat_tables(parts)


def make(directory: Path, records: int) -> None:
    """Write a synthetic run."""
    folder = directory / "history"
    folder.mkdir(parents=True)
    plans.write(plan_of(directory), directory / "plan.json")
    begin(directory, 1)
    end = records // PARTITIONS
    state = {"topic": TOPIC, "leader": "one", "replicas": NODES, "in_sync": NODES, "start": 0}
    ends = [
        {**state, "partition": partition, "end": end, "stable": end}
        for partition in range(PARTITIONS)
    ]
    last = 2 * 10**12
    events = [
        {"time": 0, "event": "clock", "wall_ns": 10**18},
        {"time": 0, "event": "phase", "phase": "load"},
        {"time": FAULT_NS[0], "event": "inject", "fault": 0, "kind": "kill", "target": "one"},
        {
            "time": FAULT_NS[0] + 1,
            "event": "leader_changed",
            "component": "kafka",
            "topic": TOPIC,
            "partition": 0,
            "was": "two",
            "now": "one",
        },
        {"time": FAULT_NS[1], "event": "heal", "fault": 0, "kind": "kill", "target": "one"},
        {"time": last, "event": "phase", "phase": "drain"},
        {"time": last, "event": "cluster_state", "component": "kafka", "partitions": ends},
        {"time": last + 1, "event": "drained", "seconds": 1},
    ]
    (folder / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events))
    write(folder, "sent", sent(records))
    write(folder, "seen", seen(records))
    others = {
        name: schema.empty_table()
        for name, schema in schemas.BROKER_TABLES.items()
        if name != "log_batches"
    }
    broker_files.keep(directory, {"kafka": {**others, "log_batches": log_batches(records)}})
    for name, found in small_tables(records).items():
        write(folder, name, iter([found]))
    conclude(directory, "finished", "")


def plan_of(directory: Path) -> Plan:
    return Plan(
        name="judge",
        seed=1,
        duration_ns=1,
        ready_limit_ns=1,
        drain_limit_ns=1,
        directory=str(directory),
        machine=Machine(),
        nodes=(),
        links=(),
        processes=(),
        declaration={"components": COMPONENTS, "checks": CHECKS},
    )


def judge(directory: Path) -> None:
    """Judge a run in this process, and print time and memory."""
    began = now_ns()
    answers = {}
    run = Run(directory)
    recorded = run.history()
    for check in run.checks():
        start = now_ns()
        verdict = check.judge(recorded)
        name = f"{check.kind}:{check.about}"
        answers[name] = verdict.answer
        took_s = (now_ns() - start) / 1e9
        print(f"{took_s:.2f} s {name} {verdict.answer}: {verdict.says[:200]}", file=sys.stderr)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "bench": "judge",
        "seconds": round((now_ns() - began) / 1e9, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_gib": round(usage.ru_maxrss / 2**20, 2),
        "answers": answers,
    }
    print(json.dumps(figures))


def main(records: int) -> None:
    """Make the ledger in this process, and judge it in another."""
    with tempfile.TemporaryDirectory() as into:
        directory = Path(into) / "judge" / "1"
        began = time.monotonic()
        make(directory, records)
        print(f"made {records:,} records in {time.monotonic() - began:.0f} s", file=sys.stderr)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.judge", "--judge", str(directory)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    figures = json.loads(done.stdout)
    if set(figures["answers"].values()) != {"holds"}:
        raise SystemExit(
            f"this ledger has no anomalies, but the verdicts are: {figures['answers']}"
        )
    print(json.dumps({**figures, "records": records}))


if __name__ == "__main__":
    words = parser(__doc__, quick="200,000 records")
    words.add_argument("--records", type=int, default=10_000_000)
    words.add_argument("--judge", type=Path, help="judge an existing run in this process")
    asked = words.parse_args()
    if asked.judge:
        judge(asked.judge)
    else:
        main(200_000 if asked.quick else asked.records)
