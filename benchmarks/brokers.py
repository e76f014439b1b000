"""How many brokers this machine can run, and what streambed's settings for many brokers save
compared with Kafka's defaults.

    scripts/bench brokers [--quick] [--brokers N] [--seconds S]

First 10 brokers and 100 topics of three replicas, once with streambed's settings and once with
`stock: true`: `time_ratio` is the time until every partition is in sync, `memory_ratio` the memory
of all brokers then (PSS, what they share counted once), ours divided by stock. Then 40 brokers for
five minutes under Raptor's load, 600 kB/s in all: `out_of_sync` partitions at the end,
`leader_changes` meanwhile, `stop_s` from the end of the load until no broker is left. If they do
not all stay in sync, fewer are tried, and `ended_by` says what limited the larger number.
`--quick`: one broker and two, with 2 topics, for 2 s. Every part is a run of `streambed run` on a
star of links of 1 Gbit/s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks._arguments import parser
from streambed import Run
from streambed.record.events import LeaderChanged

REPLICAS = 3
STEP = 5
"""Step to the next smaller number after one that failed."""
RECORD_BYTES, BYTES_PER_S = 10_000, 600_000
READY_S = 300
LOOK_S = 0.1
CORES_FULL = 0.95


@dataclass(frozen=True, kw_only=True)
class Extent:
    """How much is measured."""

    topics: int
    few: int
    """Brokers in the comparison with stock settings."""
    many: int
    """Brokers under load."""
    seconds: int
    """How long the load lasts."""


WHOLE = Extent(topics=100, few=10, many=40, seconds=300)
QUICK = Extent(topics=2, few=1, many=2, seconds=2)


@dataclass
class Outcome:
    """The outcome of one run."""

    run: Run
    says: str
    pss_bytes: int
    gone_ns: int
    began: dict[str, int] = field(default_factory=dict)
    """When each phase began."""

    @property
    def finished(self) -> bool:
        """Whether the run finished."""
        return self.run.state == "finished"

    @property
    def in_sync_s(self) -> float:
        """From the start of the first broker until every partition was in sync."""
        return (self.began["ready"] - self.began["start"]) / 1e9

    @property
    def stop_s(self) -> float:
        """From the end of the load until no broker was left."""
        return (self.gone_ns - self.began["heal"]) / 1e9


def experiment(
    brokers: int, *, topics: int, seconds: int, stock: bool = False, load: bool = False
) -> str:
    """The declaration of one run."""
    hosts = [f"h{number}" for number in range(1, brokers + 1)]
    replicas = min(REPLICAS, brokers)
    declared_topics = {f"t{number}": {"replicas": replicas} for number in range(topics)}
    producer = {
        "kind": "producer",
        "nodes": hosts,
        "writes": list(declared_topics),
        "order": "random",
        "size": f"{RECORD_BYTES}B",
        "rate": f"{BYTES_PER_S / RECORD_BYTES / brokers}/s",
        "acks": 1,
        "linger": "100ms",
    }
    kafka = {"kind": "kafka", "nodes": hosts, "stock": stock, "topics": declared_topics}
    declared = {
        "version": 1,
        "name": f"brokers{brokers}-stock" if stock else f"brokers{brokers}",
        "duration": f"{seconds}s",
        "ready": f"{READY_S}s",
        "topology": {"generate": {"kind": "star", "hosts": brokers, "link": {"rate": "1Gbit"}}},
        "components": {"kafka": kafka, **({"load": producer} if load else {})},
    }
    return json.dumps(declared)


def carried_out(folder: Path, declared: str) -> Outcome:
    """Run it; measure the brokers' memory when all is in sync, and when the last broker is gone."""
    (folder / "experiment.yaml").write_text(declared)
    command = [
        sys.executable,
        "-m",
        "streambed",
        "run",
        "experiment.yaml",
        "--into",
        "runs",
        "--json",
        "--no-report",
    ]
    launcher = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    brokers: list[int] = []
    pss_bytes = gone_ns = 0
    while launcher.poll() is None:
        time.sleep(LOOK_S)
        if not pss_bytes and "load" in phases(folder):
            brokers = [pid for pid in family(launcher.pid) if is_broker(pid)]
            pss_bytes = sum(map(pss, brokers))
        if brokers and not gone_ns and not any(map(lives, brokers)):
            gone_ns = time.monotonic_ns()
    output, troubles = launcher.communicate()
    directory = next(
        path.parent for path in folder.glob("runs/*/*/plan.json") if not path.parent.is_symlink()
    )
    return Outcome(
        Run(directory), output + troubles, pss_bytes, gone_ns or time.monotonic_ns(), phases(folder)
    )


def phases(folder: Path) -> dict[str, int]:
    """When each phase of the only run in a folder began."""
    log = next(iter(folder.glob("runs/*/2*/history/events.jsonl")), None)
    lines = log.read_text().split("\n")[:-1] if log else []
    return {
        event["phase"]: event["time"]
        for event in map(json.loads, lines)
        if event["event"] == "phase"
    }


def family(pid: int) -> Iterator[int]:
    """All descendants of a process."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            yield from family(child)


def is_broker(pid: int) -> bool:
    """Whether a process is a Kafka server."""
    return b"kafka.Kafka" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def lives(pid: int) -> bool:
    """Whether a process still exists."""
    return Path(f"/proc/{pid}/smaps_rollup").exists()


def pss(pid: int) -> int:
    """The memory of a process; shared pages are divided among those that share them."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def against_stock(extent: Extent) -> dict[str, float]:
    """A few brokers, with our settings and with Kafka's defaults."""
    measured = {}
    for name, stock in (("ours", False), ("stock", True)):
        with tempfile.TemporaryDirectory() as folder:
            outcome = carried_out(
                Path(folder), experiment(extent.few, topics=extent.topics, seconds=2, stock=stock)
            )
            assert outcome.finished, outcome.says
            measured[name] = outcome.in_sync_s, outcome.pss_bytes
            result = f"in sync after {outcome.in_sync_s:.1f} s, {outcome.pss_bytes >> 20} MiB"
            print(f"{extent.few} brokers, {name}: {result}", file=sys.stderr)
    (our_s, our_bytes), (stock_s, stock_bytes) = measured["ours"], measured["stock"]
    return {
        "time_ratio": round(our_s / stock_s, 3),
        "memory_ratio": round(our_bytes / stock_bytes, 3),
        "in_sync_s": round(our_s, 2),
        "stock_in_sync_s": round(stock_s, 2),
        "pss_mib": our_bytes >> 20,
        "stock_pss_mib": stock_bytes >> 20,
    }


def under_load(extent: Extent) -> dict[str, Any]:
    """This many brokers under load, or the largest smaller number that works."""
    brokers, seconds, ended_by = extent.many, extent.seconds, ""
    while True:
        with tempfile.TemporaryDirectory() as folder:
            outcome = carried_out(
                Path(folder), experiment(brokers, topics=extent.topics, seconds=seconds, load=True)
            )
            result = (
                how_it_went(outcome, brokers, seconds)
                if outcome.finished
                else {"brokers": brokers, "says": outcome.says[-2000:]}
            )
        print(f"{brokers} brokers under load: {result}", file=sys.stderr)
        if result.get("out_of_sync") == 0:
            return {**result, "ended_by": ended_by}
        if brokers <= STEP:
            raise SystemExit(f"even {brokers} brokers did not stay in sync: {result}")
        ended_by = f"{brokers} brokers: {resource(result)}"
        brokers -= STEP


def how_it_went(outcome: Outcome, brokers: int, seconds: int) -> dict[str, Any]:
    """What the run recorded about its brokers and the machine."""
    history, load_ns = outcome.run.history(), outcome.began["load"]
    during = history.samples.filter(pl.col("time").is_between(load_ns, outcome.began["heal"]))
    at_the_end = history.samples.filter(pl.col("metric") == "under_replicated").sort("time")[
        "value"
    ]
    sent = outcome.run.ledger().sent
    changes = [event for event in history.of(LeaderChanged) if event.time > load_ns and event.was]
    return {
        "brokers": brokers,
        "seconds": seconds,
        "out_of_sync": int(at_the_end[-1]),
        "out_of_sync_max": int(at_the_end.max() or 0),
        "leader_changes": len(changes),
        "acked_kb_per_s": round(sent["acked"].count() * RECORD_BYTES / seconds / 1e3),
        "not_acked": sent["acked"].null_count(),
        "ack_p50_s": round(float(((sent["acked"] - sent["due"]) / 1e9).median() or 0), 3),
        "ready_s": round(outcome.in_sync_s, 1),
        "stop_s": round(outcome.stop_s, 2),
        "all_pss_mib": outcome.pss_bytes >> 20,
        "busy": round(busy(during), 3),
    }


def busy(samples: pl.DataFrame) -> float:
    """The share of all cores in use."""
    grown = {
        metric: float(values["value"].max() - values["value"].min())
        for (metric,), values in samples.filter(
            pl.col("metric").is_in(["machine_busy_s", "machine_idle_s"])
        ).group_by("metric")
    }
    return grown["machine_busy_s"] / sum(grown.values())


def resource(samples: dict[str, Any]) -> str:
    """The most likely reason why the run failed."""
    if "says" in samples:
        return f"the run did not finish: {samples['says'].strip().splitlines()[-1]}"
    full = samples["busy"] >= CORES_FULL
    return (
        f"{samples['out_of_sync']} partitions out of sync, {os.cpu_count()} cores "
        f"{samples['busy']:.0%} busy" + (": processors" if full else "")
    )


def main() -> None:
    """Run both parts, one after the other."""
    asked = parser(__doc__, quick="one broker and two, with 2 topics, for 2 s")
    asked.add_argument("--brokers", type=int, help="another number in the second part")
    asked.add_argument("--seconds", type=int, help="another duration of the second part")
    asked.add_argument(
        "--only-load", action="store_true", help="leave out the comparison with stock settings"
    )
    words = asked.parse_args()
    extent = QUICK if words.quick else WHOLE
    extent = replace(
        extent, many=words.brokers or extent.many, seconds=words.seconds or extent.seconds
    )
    compared = {} if words.only_load else against_stock(extent)
    held = under_load(extent)
    print(json.dumps({"bench": "brokers", **compared, **held}))


if __name__ == "__main__":
    main()
