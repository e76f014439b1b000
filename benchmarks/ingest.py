"""Records per second through one ingest server, each acknowledged to its client after Kafka
acknowledged it.

    scripts/bench ingest [--quick] [ROUNDS]

One broker, one server and one client (256 gateways) share this machine. Each round sends as fast as
acknowledgements arrive: by WebSocket, over persistent connections, with a connection per record,
and by WebSocket to the same server without Kafka, in turn. Then each protocol is offered half of
its median rate, open loop, and latency counts from a record's due time to its acknowledgement. The
last line is one JSON object. `websocket_ratio` is the rate with Kafka divided by the rate without.
Measurements during which other programs or the hypervisor used the CPUs are repeated, up to a
limit; `calm_rounds` is the smallest number of undisturbed ones. `--quick`: one round of 1,000
records per protocol, busy machine or not.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._arguments import parser
from benchmarks._calm import spent
from tests.support.lone_broker import lone_broker

COMMAND = [sys.executable, "-m", "gateway_traffic"]
GATEWAYS = 256
PROTOCOLS = ("websocket", "keep-alive", "per-connection")
WAITING = 4096
CALM_CORES = 0.05
"""Most cores that other programs may use during a measurement that counts, if there are such.
"""


class Extent(NamedTuple):
    """How much is measured."""

    rounds: int
    tries: int
    """Largest factor on the number of rounds if the machine is not calm."""
    records: dict[str, int]
    """Records per protocol and round."""
    half_rate_s: float


WHOLE = Extent(
    rounds=3,
    tries=3,
    records=dict(zip(PROTOCOLS, (120_000, 40_000, 20_000), strict=True)),
    half_rate_s=6,
)
QUICK = Extent(rounds=1, tries=1, records=dict.fromkeys(PROTOCOLS, 1_000), half_rate_s=1)


def main(extent: Extent) -> None:
    """Alternate, so that other load on the machine affects all alternatives."""
    rounds = extent.rounds
    with tempfile.TemporaryDirectory() as name, lone_broker(Path(name) / "kafka") as broker:
        trace = Path(name) / "trace.parquet"
        subprocess.run(
            [*COMMAND, "trace", trace, "--gateways", str(GATEWAYS), "--days", "0.5"],
            check=True,
            stdout=sys.stderr,
        )
        subprocess.run(
            [*COMMAND, "topics", "--bootstrap", broker.bootstrap], check=True, stdout=sys.stderr
        )
        with server(broker.bootstrap) as real, server("") as bare:
            sent(
                trace, real.url, "websocket", extent.records["websocket"]
            )  # Java's compiler warms up.
            urls = {"bare": bare.url} | dict.fromkeys(PROTOCOLS, real.url)
            measure = Measure(trace, urls, [broker.pid, real.pid, bare.pid], extent.records)
            for _ in range(rounds * extent.tries):
                if not all(measure.calm(name) >= rounds for name in measure.urls):
                    print(measure.round(), file=sys.stderr)
            medians = {name: measure.median(name) for name in measure.urls}
            counts = {name: int(medians[name] / 2 * extent.half_rate_s) for name in PROTOCOLS}
            halves = {
                name: sent(trace, real.url, name, counts[name], rate=medians[name] / 2)
                for name in PROTOCOLS
            }
            calm = min(measure.calm(name) for name in measure.urls)
    print(
        json.dumps(
            {
                "bench": "ingest",
                "calm_rounds": calm,
                **figures(medians, halves),
                "others_cores": measure.others(),
            }
        )
    )


def figures(medians: dict[str, float], halves: dict[str, dict[str, Any]]) -> dict[str, float]:
    """The last line."""
    per_second: dict[str, float] = {}
    for protocol in PROTOCOLS:
        name = protocol.replace("-", "_")
        per_second[f"{name}_per_s"] = round(medians[protocol])
        per_second |= {
            f"{name}_half_{key}": round(halves[protocol][key], 1)
            for key in ("scheduled_per_s", "p50_ms", "p99_ms")
        }
    return per_second | {
        "without_kafka_per_s": round(medians["bare"]),
        "websocket_ratio": round(medians["websocket"] / medians["bare"], 3),
    }


class Measure:
    """Rates, each with the cores that unrelated programs and other virtual machines used."""

    def __init__(
        self, trace: Path, urls: dict[str, str], ours: list[int], records: dict[str, int]
    ) -> None:
        self.urls = urls
        self._records = records
        self._trace = trace
        self._ours = ours
        self._found: dict[str, list[tuple[float, float]]] = {name: [] for name in urls}

    def round(self) -> dict[str, str]:
        """Measure each alternative once; return the rates."""
        for name, url in self.urls.items():
            protocol = name if name in PROTOCOLS else "websocket"
            began, others_s = time.monotonic(), self._others_s()
            rate = sent(self._trace, url, protocol, self._records[protocol])["acked_per_s"]
            self._found[name].append(
                ((self._others_s() - others_s) / (time.monotonic() - began), rate)
            )
        return {
            name: f"{each[-1][1]:,.0f}/s, others {each[-1][0]:.2f} cores"
            for name, each in self._found.items()
        }

    def calm(self, name: str) -> int:
        """How many measurements were undisturbed."""
        return sum(others < CALM_CORES for others, _ in self._found[name])

    def median(self, name: str) -> float:
        """The median rate of the measurements that count."""
        return statistics.median(rate for _, rate in self._counted(name))

    def others(self) -> float:
        """Cores used by others, averaged over the measurements that count."""
        return round(
            statistics.mean(others for name in self.urls for others, _ in self._counted(name)), 2
        )

    def _counted(self, name: str) -> list[tuple[float, float]]:
        """The undisturbed measurements; if there are none, the least disturbed one."""
        return [each for each in self._found[name] if each[0] < CALM_CORES] or [
            min(self._found[name])
        ]

    def _others_s(self) -> float:
        busy, _, stolen = spent()
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        fields = [
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self._ours
        ]
        running = sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")
        return busy + stolen - running - ended.ru_utime - ended.ru_stime


class Running(NamedTuple):
    url: str
    pid: int


@contextmanager
def server(bootstrap: str, *options: str) -> Iterator[Running]:
    """Run an ingest server."""
    command = [*COMMAND, "serve", "--bootstrap", bootstrap, "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield Running(process.stdout.readline().split()[-1], process.pid)
    finally:
        process.terminate()
        process.wait()


def sent(trace: Path, url: str, protocol: str, count: int, rate: float = 0.0) -> dict[str, Any]:
    """What one client measured, at a rate or as fast as acknowledgements arrive."""
    return sent_as(trace, url, protocol, count, *(["--rate", str(rate)] if rate else []))


def sent_as(trace: Path, url: str, protocol: str, count: int, *options: str) -> dict[str, Any]:
    """The same with more options of the client."""
    pace = ["--speed-up", "0", "--waiting", str(WAITING)]
    words = [
        *COMMAND,
        "send",
        trace,
        "--url",
        url,
        "--protocol",
        protocol,
        "--records",
        str(count),
        *pace,
        *options,
        "--json",
    ]
    client = subprocess.run(words, check=True, capture_output=True, text=True)
    summary: dict[str, Any] = json.loads(client.stdout)
    assert summary["acked"] == summary["records"] == count, summary
    return summary


if __name__ == "__main__":
    words = parser(__doc__, quick="one round of 1,000 records for each protocol")
    words.add_argument("rounds", nargs="?", type=int)
    asked = words.parse_args()
    extent = QUICK if asked.quick else WHOLE
    main(extent._replace(rounds=asked.rounds or extent.rounds))
