"""Commands over an archive: compute its totals, compare them with the stream's, train a model."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table
from typer import Exit, Option

from gateway_traffic.cli.jobs import StoreAddress, settings_of
from gateway_traffic.errors import UsageError
from gateway_traffic.records import DAY_MS, Version
from gateway_traffic.stores.opening import open_store
from gateway_traffic.stores.store import Agreement, agreement

Archive = Annotated[Path, Option(help="The folder that a job was given as --archive.")]
Master = Annotated[str, Option(help="local[2], spark://HOST:PORT …; default: as Spark is set up.")]
Settings = Annotated[
    list[str] | None, Option(help="Any of Spark's settings, KEY=VALUE; may be repeated.")
]
WhichVersion = Annotated[Version, Option(help="Which records the archive has.")]
DISAGREE = 1


def batch(
    archive: Archive,
    version: WhichVersion,
    store: Annotated[str, Option(help="Where the results go: a separate store.")] = "batch.db",
    compact: Annotated[
        bool, Option(help="First bring each day of the archive into one file.")
    ] = False,
    spark_master: Master = "",
    setting: Settings = None,
) -> None:
    """Compute each gateway's traffic per day from an archive, with the stream's transforms."""
    from gateway_traffic.jobs import archive as archives

    spark = _spark(archive, spark_master, setting)
    opened = open_store(store)
    try:
        if compact:
            for day in archives.days_of(archive):
                archives.compact(spark, archive, day)
        archives.write_totals(spark, archive, version, opened)
        days = opened.days()
    finally:
        spark.stop()
        opened.close()
    print(f"{store}: {len(days)} days, {sum(day.records for day in days):,} records")


def agree(
    batch: Annotated[str, Option(help="The store with the archive's totals.")] = "batch.db",
    store: StoreAddress = "traffic.db",
    lateness_days: Annotated[
        int, Option(help="The stream's --lateness, in days: what is older is closed.", min=0)
    ] = 1,
    bound: Annotated[
        float,
        Option(help="By how much a gateway's total of a closed day may differ, relatively.", min=0),
    ] = 1e-9,
) -> None:
    """Compare the archive's totals with the stream's, day by day. Exit status 1: a closed day
    differs by more than the bound.
    """
    archived, streamed = open_store(batch, read_only=True), open_store(store, read_only=True)
    try:
        days = agreement(archived, streamed, lateness_days=lateness_days)
    finally:
        archived.close()
        streamed.close()
    Console().print(_table(days, bound))
    if any(day.closed and day.difference > bound for day in days):
        raise Exit(DISAGREE)


def train(
    archive: Archive,
    version: WhichVersion,
    model: Annotated[Path, Option(help="The file to write.")] = Path("model.json"),
    spark_master: Master = "",
    setting: Settings = None,
) -> None:
    """Learn from an archive what gateways usually send, so that `job --model` finds anomalies."""
    from gateway_traffic.jobs import anomalies
    from gateway_traffic.jobs import archive as archives

    spark = _spark(archive, spark_master, setting)
    try:
        trained = anomalies.train(archives.archived_parts(spark, archive, version))
    finally:
        spark.stop()
    anomalies.write_model(trained, model)
    print(f"{model}: the deviation is a factor of {2.718281828**trained.deviation:.2f}")


def _spark(archive: Path, master: str, setting: list[str] | None) -> Any:
    """A Spark session; Spark is imported only here because it is slow to import."""
    if not archive.is_dir():
        raise UsageError(f"there is no archive {archive}: a job with --archive makes it")
    from gateway_traffic.jobs.job import session

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = session(
        name="archive",
        master=master,
        partitions=2,
        state_store="hdfs",
        settings=settings_of(setting or []),
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _table(days: list[Agreement], bound: float) -> Table:
    table = Table(title="archive and stream; the merged view takes closed days from the archive")
    for name in ("day", ""):
        table.add_column(name)
    for name in ("archive GB", "stream GB", "largest difference of a gateway"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for day in days:
        date = str(datetime.fromtimestamp(day.day * DAY_MS / 1000, UTC).date())
        verdict = ""
        if day.closed:
            verdict = "agree" if day.difference <= bound else "differ"
        state = "closed" if day.closed else "open"
        amounts = [f"{amount / 1e9:,.3f}" for amount in (day.batch, day.stream)]
        table.add_row(date, state, *amounts, f"{day.difference:.2g}", verdict)
    return table
