"""The archive: every record that could be read, in Parquet by day; and the same totals from it,
by the same transforms.

    FOLDER/landing/batch=12/day=19723/…   as a stream wrote it; a batch that is written again takes its own place
    FOLDER/days/day=19723/…               after compaction: one file, each record once

A reader takes both and each record once, so a compaction that died half-way does no harm. The
folder is on a file system.
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
    """What is done with each batch of records."""

    def land(batch: DataFrame, number: int) -> None:
        dated = batch.select(*RECORD, F.floor(F.col("date") / DAY_MS).cast("int").alias("day"))
        dated.write.mode("overwrite").partitionBy("day").parquet(
            str(folder / "landing" / f"batch={number}")
        )

    return land


def archived(spark: SparkSession, folder: Path) -> DataFrame:
    """All records of an archive; some may be there twice."""
    if not days_of(folder):
        raise UsageError(f"the archive {folder} has no records: a job with --archive writes them")
    there = [str(path) for name in ("landing", "days") if (path := folder / name).is_dir()]
    read = spark.read.schema(RECORDS)
    frames = [read.option("basePath", path).parquet(path).select(*RECORD) for path in there]
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


def compact(spark: SparkSession, folder: Path, day: int) -> int:
    """Bring all of a closed day into one file, each record once. Returns how many files it was
    before.
    """
    parts = [*folder.glob(f"landing/batch=*/day={day}"), *folder.glob(f"days/day={day}")]
    files = sum(len(list(part.glob("*.parquet"))) for part in parts)
    if not parts:
        return 0
    made, place = folder / "compacting" / f"day={day}", folder / "days" / f"day={day}"
    once = (
        spark.read.schema(RECORDS)
        .parquet(*map(str, parts))
        .select(*RECORD)
        .dropDuplicates(IDENTITY)
    )
    once.coalesce(1).sortWithinPartitions(*IDENTITY).write.mode("overwrite").parquet(str(made))
    place.mkdir(parents=True, exist_ok=True)
    # The old goes last: a reader finds each record at least once at any time.
    old = list(place.glob("*.parquet"))
    for new in made.glob("*.parquet"):
        new.rename(place / new.name)
    for file in old:
        file.unlink()
    for part in (*[each for each in parts if each != place], folder / "compacting"):
        shutil.rmtree(part)
    return files


def days_of(folder: Path) -> list[int]:
    """The days that an archive has something of."""
    return sorted(
        {
            int(path.name.removeprefix("day="))
            for kind in ("landing/batch=*", "days")
            for path in folder.glob(f"{kind}/day=*")
        }
    )


def archived_parts(spark: SparkSession, folder: Path, version: Version) -> DataFrame:
    """PARTS of all records of an archive."""
    return parts_of(archived(spark, folder), version, lateness=FOREVER)


def write_totals(
    spark: SparkSession,
    folder: Path,
    version: Version,
    store: TrafficStore,
    *,
    name: str = "archive",
) -> None:
    """The batch job: all totals of an archive into a store of their own."""
    parts = archived_parts(spark, folder, version)
    store.write(name, store.last_batch(name) + 1, [Part(*row) for row in parts.collect()])
