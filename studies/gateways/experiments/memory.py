"""Open question: memory and garbage collection."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import polars as pl

from gateway_traffic.records import Version
from studies.gateways import harness, judging, results
from studies.gateways.judging import Statement

TITLE = "Memory and garbage collection"
CLAIM = (
    "An open question of the thesis: tuning memory and GC to reduce memory, GC overhead and "
    "latency."
)
CASES = {
    "512 MiB, serial": ("-Xmx512m", "-XX:+UseSerialGC"),
    "2 GiB, serial": ("-Xmx2g", "-XX:+UseSerialGC"),
    "2 GiB, parallel": ("-Xmx2g", "-XX:+UseParallelGC"),
    "2 GiB, G1": ("-Xmx2g", "-XX:+UseG1GC"),
}
SIZE = 40_000
PLAIN = "2 GiB, serial"
"""The case that the others are compared with."""
LITTLE = 0.1


def rows(bench: harness.Bench, repetitions: int) -> Iterator[results.Row]:
    """One JVM per case, with the same batches in each repetition."""
    size = 2_000 if bench.quick else SIZE
    topic = bench.topic(Version.CUMULATIVE, "json.2", 2, bench.needed(size))
    cases = dict(list(CASES.items())[:1]) if bench.quick else CASES
    for case, flags in cases.items():
        folder = bench.fresh("memory")
        with harness.spark_session(folder, [*flags, "-Xss4m", "-XX:-UsePerfData"]) as spark:
            for repetition in bench.rounds(repetitions):
                before_s = collecting_s(spark)
                seconds = harness.batch_s(bench, topic, Version.CUMULATIVE, size=size, spark=spark)
                row = {"case": case, "repetition": repetition, "batch_s": seconds, "records": size}
                yield row | {
                    "gc_s": collecting_s(spark) - before_s,
                    "batches": bench.counted + harness.WARM,
                }


def collecting_s(spark: object) -> float:
    """Time of the JVM's garbage collectors so far."""
    beans = spark._jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()  # type: ignore[attr-defined]
    return sum(bean.getCollectionTime() for bean in beans) / 1000


def table(measurements: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals."""
    collected = measurements.group_by("case").agg(
        (pl.col("gc_s").sum() / pl.col("batches").sum()).alias("gc_s_per_batch")
    )
    return results.points(measurements, ["case"], "batch_s").join(
        collected, on="case", maintain_order="left"
    )


def chart(measurements: pl.DataFrame) -> alt.Chart:
    """A bar for each case."""
    return results.bars(
        table(measurements),
        x="case",
        y="batch_s",
        titles={
            "case": "",
            "batch_s": f"batch time (s), {measurements['records'].max():,} records",
        },
    )


def statements(measurements: pl.DataFrame) -> list[Statement]:
    """Whether each case changes the batch time compared with PLAIN, and whether garbage collection
    is a small part of it.
    """
    made, cases = [], measurements["case"].unique(maintain_order=True).to_list()
    for case in cases:
        if case != PLAIN and PLAIN in cases:
            ratios = judging.ratios(measurements, "batch_s", {"case": case}, {"case": PLAIN})
            made.append(judging.alike(f"a batch takes as long with {case} as with {PLAIN}", ratios))
    for case in cases:
        one = {
            name: judging.values(measurements, name, case=case)
            for name in ("gc_s", "batches", "batch_s")
        }
        shares = [
            gc_s / batches / batch_s for gc_s, batches, batch_s in zip(*one.values(), strict=True)
        ]
        says = f"{case}: collecting takes less than a tenth of a batch's time"
        made.append(Statement(says=says, values=shares, most=LITTLE, show=judging.share))
    return made


def verdict(measurements: pl.DataFrame) -> str:
    """Times and collections."""
    sentences = [
        f"{row['case']}: {row['batch_s']:.2f} s, of it {row['gc_s_per_batch']:.2f} s collecting"
        for row in table(measurements).iter_rows(named=True)
    ]
    records = f"{measurements['records'].max():,} *cumulative* records"
    intro = f"A batch of {records}: {'; '.join(sentences)}."
    return judging.told(intro, statements(measurements))
