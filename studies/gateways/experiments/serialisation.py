"""4.3: JSON and Avro."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import polars as pl

from gateway_traffic.records import Version
from studies.gateways import harness, judging, results
from studies.gateways.judging import Outcome, Statement

TITLE = "4.3 JSON and Avro"
CLAIM = (
    "Batch times are nearly the same; a JSON record takes about 180 bytes in Kafka, an Avro record "
    "half of that. "
    "*Cumulative*, 1 partition, batches of 5 s, 200 to 1,200 records/s."
)
INTERVAL_S = 5
ENCODINGS = ("json.2", "avro.2")
CLAIMED_BYTES, CLAIMED_SHARE = 180, 0.5


def rows(bench: harness.Bench, repetitions: int) -> Iterator[results.Row]:
    """Batch time and bytes in Kafka's log."""
    rates = [400] if bench.quick else [1200, 10000]
    needed = bench.needed(max(rates) * INTERVAL_S)
    topics = {
        encoding: bench.topic(Version.CUMULATIVE, encoding, 1, needed) for encoding in ENCODINGS
    }
    for encoding in ENCODINGS:
        harness.warm_up(bench, encoding=encoding)
    for repetition in bench.rounds(repetitions):
        for rate in rates:
            for encoding, topic in topics.items():
                seconds = harness.batch_s(
                    bench, topic, Version.CUMULATIVE, size=rate * INTERVAL_S, encoding=encoding
                )
                log = sum(
                    path.stat().st_size
                    for path in (bench.broker.folder / "log" / f"{topic}-0").glob("*.log")
                )
                row = {
                    "encoding": encoding,
                    "rate": rate,
                    "repetition": repetition,
                    "batch_s": seconds,
                }
                yield row | {"bytes_per_record": log / needed}


def table(measurements: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals."""
    sizes = measurements.group_by("encoding").agg(pl.col("bytes_per_record").mean())
    return (
        results.points(measurements, ["encoding", "rate"], "batch_s")
        .join(sizes, on="encoding")
        .sort("encoding", "rate")
    )


def chart(measurements: pl.DataFrame) -> alt.Chart:
    """Batch time over rate."""
    titles = {"rate": "records a second", "batch_s": "batch time (s), batches of 5 s"}
    return results.lines(
        table(measurements), x="rate", y="batch_s", color="encoding", titles=titles
    )


def statements(measurements: pl.DataFrame) -> list[Statement]:
    """Bytes, and batch time at each rate."""
    highest = int(measurements["rate"].max())
    json, avro = ({"encoding": encoding, "rate": highest} for encoding in ENCODINGS)
    once = {
        Outcome.BELOW: "today's log keeps once for a batch what each record carried by itself then"
    }
    sizes = judging.values(measurements, "bytes_per_record", **json)
    shares = judging.ratios(measurements, "bytes_per_record", avro, json)
    made = [
        judging.about(
            "a JSON record takes about 180 bytes in Kafka",
            sizes,
            CLAIMED_BYTES,
            "{:.0f} bytes".format,
            once,
        ),
        judging.about(
            "an Avro record takes half of a JSON record's bytes",
            shares,
            CLAIMED_SHARE,
            judging.share,
        ),
    ]
    for rate in measurements["rate"].unique().sort():
        ratios = judging.ratios(
            measurements, "batch_s", avro | {"rate": rate}, json | {"rate": rate}
        )
        made.append(
            judging.alike(f"at {rate:,}/s a batch takes as long in Avro as in JSON", ratios)
        )
    return made


def verdict(measurements: pl.DataFrame) -> str:
    """Bytes and batch time."""
    size = {
        name: float(measurements.filter(pl.col("encoding") == name)["bytes_per_record"].mean() or 0)
        for name in ENCODINGS
    }
    intro = (
        f"{size['json.2']:.0f} bytes in JSON and {size['avro.2']:.0f} in Avro, "
        "keys, headers and batches included."
    )
    return judging.told(intro, statements(measurements))
