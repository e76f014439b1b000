"""The archive: every readable record in Parquet by day, and totals from it by the same transforms.

    FOLDER/landing/batch=12/day=19723/…   as a stream wrote it; a repeated batch overwrites itself
    FOLDER/days/day=19723/…               after compaction: one file, each record once

A reader takes both and each record once, so an interrupted compaction does no harm. The folder is
on a local or mounted file system.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gateway_traffic.errors import UsageError
from gateway_traffic.jobs.decoding import RECORD
from gateway_traffic.jobs.transforms import IDENTITY, parts_of
from gateway_traffic.records import DAY_MS, Version
from gateway_traffic.stores.store import Part, TrafficStore

RECORDS = "gateway_id string, date long, ipTx double, ipRx double, restarts int, day int"
FOREVER = "1000 days"


def batch_lander(folder: Path) -> Callable[[DataFrame, int], None]:
    """A function for `foreachBatch` that writes each batch into the archive."""

    def land(batch: DataFrame, number: int) -> None:
        dated = batch.select(*RECORD, F.floor(F.col("date") / DAY_MS).cast("int").alias("day"))
        dated.write.mode("overwrite").partitionBy("day").parquet(
            str(folder / "landing" / f"batch={number}")
        )

    return land


def archived_records(spark: SparkSession, folder: Path) -> DataFrame:
    """All records of an archive; some may occur twice."""
    if not days_of(folder):
        raise UsageError(f"the archive {folder} has no records: a job with --archive writes them")
    reader = spark.read.schema(RECORDS)
    folders = [folder / name for name in ("landing", "days")]
    paths = [str(path) for path in folders if path.is_dir()]
    frames = [reader.option("basePath", path).parquet(path).select(*RECORD) for path in paths]
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


def compact(spark: SparkSession, folder: Path, day: int) -> int:
    """Merge all files of a closed day into one, each record once. Returns their former number."""
    parts = [*folder.glob(f"landing/batch=*/day={day}"), *folder.glob(f"days/day={day}")]
    files = sum(len(list(part.glob("*.parquet"))) for part in parts)
    if not parts:
        return 0
    compacted = folder / "compacting" / f"day={day}"
    target = folder / "days" / f"day={day}"
    records = spark.read.schema(RECORDS).parquet(*map(str, parts)).select(*RECORD)
    once = records.dropDuplicates(IDENTITY).coalesce(1).sortWithinPartitions(*IDENTITY)
    once.write.mode("overwrite").parquet(str(compacted))
    _replace_files(target, compacted)
    merged = [part for part in parts if part != target]
    for part in (*merged, folder / "compacting"):
        shutil.rmtree(part)
    return files


def _replace_files(target: Path, source: Path) -> None:
    """Move the files of `source` to `target`, then remove the old ones: a reader finds each record
    at least once at any time.
    """
    target.mkdir(parents=True, exist_ok=True)
    old = list(target.glob("*.parquet"))
    for new in source.glob("*.parquet"):
        new.rename(target / new.name)
    for file in old:
        file.unlink()


def days_of(folder: Path) -> list[int]:
    """The days of which an archive has records."""
    paths = [*folder.glob("landing/batch=*/day=*"), *folder.glob("days/day=*")]
    return sorted({int(path.name.removeprefix("day=")) for path in paths})


def archived_parts(spark: SparkSession, folder: Path, version: Version) -> DataFrame:
    """PARTS of all records of an archive."""
    return parts_of(archived_records(spark, folder), version, lateness=FOREVER)


def write_totals(
    spark: SparkSession,
    folder: Path,
    version: Version,
    store: TrafficStore,
    *,
    name: str = "archive",
) -> None:
    """The batch job: write all totals of an archive into a separate store."""
    parts = archived_parts(spark, folder, version)
    store.write(name, store.last_batch(name) + 1, [Part(*row) for row in parts.collect()])
