"""What an attack costs honest clients: an ingest server with a real Kafka under an attack mix.

    scripts/bench hostile [--quick] [PAIRS]

Honest gateways send 2,000 records a second, most by WebSocket and a tenth with a connection for
each record, to a new server, alternately without and with the attack mix of `_attack.py`.
Five pairs of a minute each make five minutes of attack. All traffic stays on the loopback
interface. The last line is one JSON object:

    lost              records that were acknowledged and are not in Kafka: 0
    doubled           records that were acknowledged at the first attempt and are there twice: 0
    memory_ratio      highest memory (RSS) of the server with the attack ÷ without: at most 1.5
    p99_ratio         honest p99 with the attack ÷ without, median of the pairs: at most 3
    descriptors_left  open files of the server after the attack minus those after a round without: 0
    attack_per_s      how many attacks of each kind began in a second
    others_cores      cores used by other programs; if many, p99_ratio means little

`--quick`: one pair of two seconds, at a quarter of the rates, with shorter limits in the server.
"""

from __future__ import annotations

import json
import os
import resource
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from confluent_kafka import Consumer, TopicPartition

from benchmarks._arguments import parser
from benchmarks._calm import spent
from gateway_traffic.codecs import decode
from gateway_traffic.records import ENCODINGS, Version, topic_of
from streambed.record import wait_until
from tests.support.lone_broker import LoneBroker, lone_broker

COMMAND = [sys.executable, "-m", "gateway_traffic"]
GATEWAYS = 256
HONEST = {"websocket": 1_800, "per-connection": 200}
"""Records a second by each protocol."""
PARTITIONS = 2
SETTLE_S = 30.0
"""Time for the server to close connections that the attack left."""


class Extent(NamedTuple):
    """How much is measured."""

    pairs: int
    seconds: float
    share: float
    """Factor on the rates of clients and attackers."""
    first_record_s: float
    """When the server closes a connection without a valid record."""


WHOLE = Extent(pairs=5, seconds=60.0, share=1.0, first_record_s=10.0)
QUICK = Extent(pairs=1, seconds=2.0, share=0.25, first_record_s=1.0)


@dataclass(frozen=True)
class Round:
    """The result of one round."""

    attacked: bool
    records: int
    acked: int
    lost: int
    doubled: int
    p99_ms: float
    memory_mb: float
    descriptors: int
    log_bytes: int
    attacks: dict[str, int]
    attack_s: float
    others_cores: float
    """CPU time of unrelated programs and of other virtual machines meanwhile."""


class Serving(NamedTuple):
    """A running ingest server."""

    url: str
    pid: int
    log: Path

    @property
    def descriptors(self) -> int:
        """Its open files."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    @property
    def peak_mb(self) -> float:
        """Its peak memory."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
        return int(peak) / 1024


def main(extent: Extent) -> None:
    """Alternate the rounds; each pair starts with the other kind than the pair before."""
    rounds: list[Round] = []
    with tempfile.TemporaryDirectory() as name, lone_broker(Path(name) / "kafka") as broker:
        bench = Bench(Path(name), broker, extent)
        for pair in range(extent.pairs):
            for attacked in (False, True) if pair % 2 == 0 else (True, False):
                rounds.append(bench.round(len(rounds), attacked=attacked))
                print(rounds[-1], file=sys.stderr)
    print(json.dumps({"bench": "hostile", **figures(rounds)}))


LIMITS = {"lost": 0, "doubled": 0, "memory_ratio": 1.5, "p99_ratio": 3, "descriptors_left": 0}
"""The most that a figure may be."""


def figures(rounds: list[Round]) -> dict[str, Any]:
    """The last line."""
    calm = [each for each in rounds if not each.attacked]
    hostile = [each for each in rounds if each.attacked]
    attacks: Counter[str] = Counter()
    for each in hostile:
        attacks.update(each.attacks)
    attack_s = sum(each.attack_s for each in hostile)
    ratios = [each.p99_ms / other.p99_ms for each, other in zip(hostile, calm, strict=True)]
    measured = {
        "lost": sum(each.lost for each in rounds),
        "doubled": sum(each.doubled for each in rounds),
        "memory_ratio": round(
            max(each.memory_mb for each in hostile) / max(each.memory_mb for each in calm), 2
        ),
        "p99_ratio": round(statistics.median(ratios), 2),
        "descriptors_left": max(
            each.descriptors - other.descriptors for each, other in zip(hostile, calm, strict=True)
        ),
        "pairs": len(hostile),
        "attack_s": round(attack_s, 1),
        "attack_per_s": {name: round(count / attack_s, 1) for name, count in attacks.items()},
        "honest_records": sum(each.records for each in hostile),
        "honest_acked": sum(each.acked for each in hostile),
        "p99_ms": [round(each.p99_ms, 1) for each in hostile],
        "p99_without_ms": [round(each.p99_ms, 1) for each in calm],
        "memory_mb": round(max(each.memory_mb for each in hostile), 1),
        "log_bytes": max(each.log_bytes for each in hostile),
        "others_cores": round(statistics.mean(each.others_cores for each in rounds), 2),
    }
    within_limits = all(measured[name] <= most for name, most in LIMITS.items())
    return {**measured, "within_limits": within_limits}


class Bench:
    """What all rounds share: a folder with trace and secret, a broker, the extent."""

    def __init__(self, folder: Path, broker: LoneBroker, extent: Extent) -> None:
        self._folder = folder
        self._broker = broker
        self._extent = extent
        self._trace = folder / "trace.parquet"
        self._secret = folder / "secret"
        self._secret.touch(mode=0o600)
        self._secret.write_text(secrets.token_hex(32))
        homes = ["--gateways", str(GATEWAYS), "--days", "1", "--duplicates", "0"]
        _run("trace", self._trace, *homes)

    def round(self, number: int, *, attacked: bool) -> Round:
        """Honest clients at their rates, with or without the attack."""
        prefix, bootstrap = f"round{number}", self._broker.bootstrap
        partitions = ["--partitions", str(PARTITIONS)]
        _run("topics", "--bootstrap", bootstrap, "--prefix", prefix, *partitions)
        began, others_s = time.monotonic(), self._others_s()
        with self._server(prefix) as server:
            attack = self._attack(server) if attacked else None
            ledgers = self._send(server, prefix)
            told: dict[str, Any] = {"began": {}, "seconds": 0.0}
            if attack:
                told = _result_of(attack)
            wait_until(lambda: _connections(server) == 0, limit_s=SETTLE_S)
            descriptors, memory_mb = server.descriptors, server.peak_mb
        others_cores = (self._others_s() - others_s) / (time.monotonic() - began)
        sent = pl.concat([pl.read_parquet(ledger) for ledger in ledgers])
        acked = sent.filter(pl.col("acked").is_not_null())
        offsets = offsets_of(self._broker, topic_of(Version.COUNTER, prefix))
        return Round(
            attacked=attacked,
            records=len(sent),
            acked=len(acked),
            lost=sum(offsets[identity] == 0 for identity in _identities(acked)),
            doubled=sum(
                offsets[identity] > 1
                for identity in _identities(acked.filter(pl.col("attempts") == 1))
            ),
            p99_ms=_p99_ms(acked),
            memory_mb=memory_mb,
            descriptors=descriptors,
            log_bytes=server.log.stat().st_size,
            attacks=told["began"],
            attack_s=told["seconds"],
            others_cores=others_cores,
        )

    def _others_s(self) -> float:
        """CPU time of all other programs so far; our own count here only once they have ended."""
        busy, _, stolen = spent()
        ours = (
            resource.getrusage(resource.RUSAGE_SELF),
            resource.getrusage(resource.RUSAGE_CHILDREN),
        )
        fields = Path(f"/proc/{self._broker.pid}/stat").read_text().rpartition(")")[2].split()
        broker = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return busy + stolen - broker - sum(used.ru_utime + used.ru_stime for used in ours)

    @contextmanager
    def _server(self, prefix: str) -> Iterator[Serving]:
        log = self._folder / f"{prefix}.log"
        address = ["--bootstrap", self._broker.bootstrap, "--port", "0", "--prefix", prefix]
        limits = ["--first-record-s", str(self._extent.first_record_s)]
        command = [*COMMAND, "serve", *address, "--secret", str(self._secret), *limits]
        with log.open("wb") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
            try:
                assert process.stdout
                url = process.stdout.readline().split()[-1]
                yield Serving(url, process.pid, log)
            finally:
                process.terminate()
                process.communicate()

    def _attack(self, server: Serving) -> subprocess.Popen[str]:
        port = server.url.rpartition(":")[2]
        extent = [str(self._extent.seconds), str(self._extent.share)]
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks._attack", port, *extent],
            stdout=subprocess.PIPE,
            text=True,
        )

    def _send(self, server: Serving, prefix: str) -> list[Path]:
        """One client for each protocol, each with its share of the gateways; their ledgers."""
        clients, ledgers = [], []
        for number, (protocol, per_s) in enumerate(HONEST.items(), 1):
            rate = per_s * self._extent.share
            ledger = self._folder / f"{prefix}-{protocol}.parquet"
            words = ["--url", server.url, "--protocol", protocol, "--rate", str(rate)]
            words += ["--records", str(int(rate * self._extent.seconds))]
            words += ["--share", f"{number}/{len(HONEST)}", "--secret", str(self._secret)]
            command = [
                *COMMAND,
                "send",
                str(self._trace),
                *words,
                "--ledger",
                str(ledger),
                "--json",
            ]
            clients.append(subprocess.Popen(command, stdout=sys.stderr))
            ledgers.append(ledger)
        for client in clients:
            client.wait()
        return ledgers


def _run(*words: str | Path) -> None:
    subprocess.run([*COMMAND, *words], check=True, stdout=sys.stderr)


def _result_of(attack: subprocess.Popen[str]) -> dict[str, Any]:
    output, _ = attack.communicate()
    assert attack.returncode == 0, "the attack failed"
    result: dict[str, Any] = json.loads(output)
    return result


def _connections(server: Serving) -> int:
    """Connections to the server that are open or being closed."""
    port = int(server.url.rpartition(":")[2])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    local = f":{port:04X}"
    return sum(row[1].endswith(local) and row[3] not in ("0A", "06") for row in rows)


def _identities(records: pl.DataFrame) -> list[tuple[str, int]]:
    return list(records.select("gateway_id", "date").iter_rows())


def _p99_ms(acked: pl.DataFrame) -> float:
    latency = (acked["acked"] - acked["due"]) / 1e6
    return float(latency.quantile(0.99, "nearest") or 0.0)


def offsets_of(broker: LoneBroker, topic: str) -> Counter[tuple[str, int]]:
    """How many offsets of a topic hold each record."""
    reader = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
        }
    )
    found: Counter[tuple[str, int]] = Counter()
    try:
        parts = [TopicPartition(topic, number, 0) for number in range(PARTITIONS)]
        expected = sum(reader.get_watermark_offsets(part, timeout=20)[1] for part in parts)
        reader.assign(parts)
        while found.total() < expected:
            messages = reader.consume(min(10_000, expected - found.total()), timeout=20)
            assert messages, f"{topic}: {found.total()} of {expected} records could be read"
            for message in messages:
                record = decode(message.value() or b"", ENCODINGS["avro.2"])
                found[record.gateway_id, record.date] += 1
    finally:
        reader.close()
    return found


if __name__ == "__main__":
    words = parser(__doc__, quick="one pair of two seconds, at a quarter of the rates")
    words.add_argument("pairs", nargs="?", type=int)
    asked = words.parse_args()
    extent = QUICK if asked.quick else WHOLE
    main(extent._replace(pairs=asked.pairs or extent.pairs))
