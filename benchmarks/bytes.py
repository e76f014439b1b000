"""Size of a record in Kafka's log, in Avro and in JSON.

    scripts/bench bytes [--quick] [RECORDS]

The same records go through an ingest server, by WebSocket, into a topic for each serialisation and
version; the sizes are those of the log segments on the broker's disk, with keys, headers and
batches, uncompressed. The last line is one JSON object; `avro_to_json` is the ratio over all
versions. `--quick`: 1,000 records.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._arguments import parser
from benchmarks.ingest import COMMAND, sent_as, server
from tests.support.lone_broker import lone_broker

VERSIONS = ("cumulative", "counter", "rate")


def main(records: int) -> None:
    """One server for each serialisation, with separate topics."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name, lone_broker(Path(name) / "kafka") as broker:
        trace = Path(name) / "trace.parquet"
        subprocess.run(
            [*COMMAND, "trace", trace, "--gateways", "200", "--days", "0.5"],
            check=True,
            stdout=sys.stderr,
        )
        for serialisation in ("json", "avro"):
            subprocess.run(
                [*COMMAND, "topics", "--bootstrap", broker.bootstrap, "--prefix", serialisation],
                check=True,
                stdout=sys.stderr,
            )
            with server(broker.bootstrap, "--prefix", serialisation) as running:
                for version in VERSIONS:
                    sent_as(
                        trace,
                        running.url,
                        "websocket",
                        records,
                        "--serialisation",
                        serialisation,
                        "--version",
                        version,
                    )
                    size = log_bytes(broker.folder / "log", f"{serialisation}-{version}")
                    bytes_a_record = round(size / records, 1)
                    figures[f"{serialisation}_{version}"] = bytes_a_record
                    message = f"{serialisation} {version}: {bytes_a_record} bytes a record"
                    print(message, file=sys.stderr)
    means = {
        each: sum(figures[f"{each}_{version}"] for version in VERSIONS) / len(VERSIONS)
        for each in ("json", "avro")
    }
    print(
        json.dumps(
            {
                "bench": "bytes",
                "records": records,
                **figures,
                "avro_to_json": round(means["avro"] / means["json"], 3),
            }
        )
    )


def log_bytes(log: Path, topic: str) -> int:
    """The size of a topic's log segments."""
    return sum(segment.stat().st_size for segment in log.glob(f"{topic}-*/*.log"))


if __name__ == "__main__":
    words = parser(__doc__, quick="1,000 records")
    words.add_argument("records", nargs="?", type=int)
    asked = words.parse_args()
    main(asked.records or (1_000 if asked.quick else 50_000))
