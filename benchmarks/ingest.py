"""How many records a second one ingest server takes in, each acknowledged to its client after Kafka acknowledged it.

    scripts/bench ingest [ROUNDS]

One broker, one server and one client (256 gateways) share this machine. Each round sends as fast as acknowledgements come, by
WebSocket, over kept connections and with a connection for each record, and by WebSocket to the same server without Kafka, in turn.
Then each protocol is offered half of its median rate, open loop, and latency is taken from when a record was due to its acknowledgement.
The last line is one JSON object. `websocket_ratio` is the rate with Kafka divided by the rate without. `others_cores` is what programs that
have no part in this used meanwhile: if it is not near zero, the figures are too low.
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

from streambed.lone_broker import lone_broker

COMMAND = [sys.executable, "-m", "gateway_traffic"]
GATEPROTOCOLS = 256
PROTOCOLS = {"websocket": 120_000, "keep-alive": 40_000, "per-connection": 20_000}
"""How many records each protocol sends in a round."""
WAITING = 4096
HALF_RATE_S = 6


def main(rounds: int) -> None:
    """Alternate, so that what else the machine does falls on all."""
    with tempfile.TemporaryDirectory() as name, lone_broker(Path(name) / "kafka") as broker:
        trace = Path(name) / "trace.parquet"
        subprocess.run([*COMMAND, "trace", trace, "--gateways", str(GATEPROTOCOLS), "--days", "0.5"], check=True, stdout=sys.stderr)
        subprocess.run([*COMMAND, "topics", "--bootstrap", broker.bootstrap], check=True, stdout=sys.stderr)
        with server(broker.bootstrap) as real, server("") as bare:
            sent(trace, real.url, "websocket", PROTOCOLS["websocket"])  # Java's compiler warms up.
            strangers = Strangers([broker.pid, real.pid, bare.pid])
            rates: dict[str, list[float]] = {protocol: [] for protocol in (*PROTOCOLS, "bare")}
            for _ in range(rounds):
                for protocol, count in PROTOCOLS.items():
                    rates[protocol].append(sent(trace, real.url, protocol, count)["acked_per_s"])
                rates["bare"].append(sent(trace, bare.url, "websocket", PROTOCOLS["websocket"])["acked_per_s"])
                print({protocol: round(each[-1]) for protocol, each in rates.items()}, "others' cores:", strangers.cores(), file=sys.stderr)
            medians = {protocol: statistics.median(each) for protocol, each in rates.items()}
            halves = {
                protocol: sent(trace, real.url, protocol, int(medians[protocol] / 2 * HALF_RATE_S), rate=medians[protocol] / 2)
                for protocol in PROTOCOLS
            }
            others = strangers.cores()
    print(json.dumps({"bench": "ingest", "rounds": rounds, **figures(medians, halves), "others_cores": others}))


def figures(medians: dict[str, float], halves: dict[str, dict[str, Any]]) -> dict[str, float]:
    """The last line."""
    found: dict[str, float] = {}
    for protocol in PROTOCOLS:
        name = protocol.replace("-", "_")
        found[f"{name}_per_s"] = round(medians[protocol])
        found |= {f"{name}_half_{key}": round(halves[protocol][key], 1) for key in ("scheduled_per_s", "p50_ms", "p99_ms")}
    return found | {
        "without_kafka_per_s": round(medians["bare"]),
        "websocket_ratio": round(medians["websocket"] / medians["bare"], 3),
    }


class Strangers:
    """How many cores were used by programs that have nothing to do with this, on average since the beginning: none of them should be."""

    def __init__(self, ours: list[int]) -> None:
        self._ours = ours
        self._began = time.monotonic()
        self._busy_s = self._busy()

    def cores(self) -> float:
        """So many."""
        return round((self._busy() - self._busy_s) / (time.monotonic() - self._began), 2)

    def _busy(self) -> float:
        user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self._ours]
        running = sum(int(each[11]) + int(each[12]) for each in fields)
        return (user + nice + system + irq + softirq - running) / os.sysconf("SC_CLK_TCK") - ended.ru_utime - ended.ru_stime


class Running(NamedTuple):
    url: str
    pid: int


@contextmanager
def server(bootstrap: str, *options: str) -> Iterator[Running]:
    """An ingest server."""
    command = [*COMMAND, "serve", "--bootstrap", bootstrap, "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield Running(process.stdout.readline().split()[-1], process.pid)
    finally:
        process.terminate()
        process.wait()


def sent(trace: Path, url: str, protocol: str, count: int, rate: float = 0.0) -> dict[str, Any]:
    """What one client measured, at a rate or as fast as acknowledgements come."""
    return sent_as(trace, url, protocol, count, *(["--rate", str(rate)] if rate else []))


def sent_as(trace: Path, url: str, protocol: str, count: int, *options: str) -> dict[str, Any]:
    """The same, with options of the client's own."""
    pace = ["--speed-up", "0", "--waiting", str(WAITING)]
    words = [*COMMAND, "send", trace, "--url", url, "--protocol", protocol, "--records", str(count), *pace, *options, "--json"]
    client = subprocess.run(words, check=True, capture_output=True, text=True)
    summary: dict[str, Any] = json.loads(client.stdout)
    assert summary["acked"] == summary["records"] == count, summary
    return summary


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
