"""The streaming job."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.table import Table
from typer import Option

from gateway_traffic.cli.servers import Bootstrap
from gateway_traffic.errors import UsageError
from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.records import DAY_MS, ENCODINGS, Serialisation, Version
from gateway_traffic.stores.opening import open_store
from gateway_traffic.stores.store import Top, TrafficStore

StoreAddress = Annotated[
    str, Option(help="Where the results are: a file, or cassandra://HOST:PORT/KEYSPACE.")
]


class StateStore(StrEnum):
    """Where Spark keeps what it must remember between batches."""

    HDFS = "hdfs"
    ROCKSDB = "rocksdb"


def job(
    bootstrap: Bootstrap,
    version: Annotated[Version, Option(help="Which records; each version has its topic.")],
    checkpoint: Annotated[
        str,
        Option(
            help="Folder that a new start goes on from. It belongs to one version and number of partitions."
        ),
    ],
    store: StoreAddress = "traffic.db",
    serialisation: Annotated[
        Serialisation | None,
        Option(help="Read only these; others become dead letters. Default: both."),
    ] = None,
    topic: Annotated[str, Option(help="Default: traffic-VERSION.")] = "",
    letters: Annotated[
        str,
        Option(help="Topic for what cannot be read, made if it is not there. Default: TOPIC-dead."),
    ] = "",
    trigger: Annotated[
        str,
        Option(
            help="Time between batches, such as '500 milliseconds'; once: take what is there, then end."
        ),
    ] = "1 second",
    lateness: Annotated[
        str,
        Option(
            help="Records that come so long after younger ones are dropped; what is older is forgotten."
        ),
    ] = "1 day",
    duplicates: Annotated[
        bool, Option(help="Count records that come twice twice: less state, for measurements.")
    ] = False,
    partitions: Annotated[
        int, Option(help="Of the state, and tasks that compute; about as many as cores.", min=1)
    ] = 2,
    state_store: Annotated[
        StateStore, Option(help="hdfs: in memory, with files; rocksdb: for more state than memory.")
    ] = StateStore.HDFS,
    offsets_per_batch: Annotated[
        int, Option(help="The most records of a batch; 0: all that wait.", min=0)
    ] = 0,
    least_partitions: Annotated[
        int, Option(help="Tasks that read, if more than the topic's partitions.", min=0)
    ] = 0,
    spark_master: Annotated[
        str, Option(help="local[2], spark://HOST:PORT …; default: as Spark is set up.")
    ] = "",
    setting: Annotated[
        list[str] | None, Option(help="Any of Spark's settings, KEY=VALUE; may be repeated.")
    ] = None,
    archive: Annotated[
        str,
        Option(
            help="Folder in which every record that can be read is kept too, as Parquet by day."
        ),
    ] = "",
    model: Annotated[
        Path | None,
        Option(
            help="What `gateway-traffic train` has learnt: hours that are anomalies go to the store."
        ),
    ] = None,
    patience: Annotated[
        float,
        Option(
            help="What fails is started again at its checkpoint; seconds without one more batch until it is given up.",
            min=0,
        ),
    ] = 120.0,
    tops: Annotated[bool, Option(help="Show the ten busiest gateways after each batch.")] = True,
) -> None:
    """Compute each gateway's traffic per day from Kafka into a store, with Spark, until stopped.

    Started again with the same checkpoint it goes on exactly where it was, also after a crash: the
    store has every record's traffic once. Spark needs its connectors spark-sql-kafka-0-10 and
    spark-avro, by --setting spark.jars.packages=… or as your cluster has them.
    """
    from gateway_traffic.jobs import job as jobs
    from gateway_traffic.jobs.anomalies import read_model
    from gateway_traffic.jobs.source import (
        JobOptions,
    )  # Spark takes a while to import; the other commands do without.

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    wanted = JobOptions(
        version=version,
        bootstrap=bootstrap,
        checkpoint=checkpoint,
        topic=topic,
        letters=letters,
        encodings=tuple(
            name for name, each in ENCODINGS.items() if serialisation in (None, each.serialisation)
        ),
        trigger=trigger,
        lateness=lateness,
        once=not duplicates,
        offsets_per_batch=offsets_per_batch,
        least_partitions=least_partitions,
        archive=archive,
    )
    settings, learnt = settings_of(setting or []), read_model(model) if model else None
    opened = open_store(store)
    make_topics(bootstrap, [wanted.dead_letter_topic], partitions=1, replicas=1, within_s=30.0)
    name = f"{version} traffic"
    spark = jobs.session(
        name=name,
        master=spark_master,
        partitions=partitions,
        state_store=state_store,
        settings=settings,
    )
    spark.sparkContext.setLogLevel("ERROR")
    console = Console()

    def show(number: int, days: set[int]) -> None:
        console.print(f"batch {number}: {len(days)} days changed", highlight=False)
        for day in sorted(days)[-1:] if tops else ():
            console.print(table_of(opened, day))

    def complain(says: str) -> None:
        print(f"gateway-traffic: the job was {says}", file=sys.stderr, flush=True)

    try:
        jobs.run(spark, wanted, opened, show, patience_s=patience, troubled=complain, model=learnt)
    finally:
        spark.stop()
        opened.close()


def settings_of(words: list[str]) -> dict[str, str]:
    """Spark's settings from KEY=VALUE."""
    if wrong := [word for word in words if "=" not in word]:
        raise UsageError(
            f"a setting is KEY=VALUE, such as spark.driver.memory=2g; asked for: {wrong[0]!r}"
        )
    return dict(word.split("=", 1) for word in words)


def day_of(text: str) -> int:
    """Days since 1970."""
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000) // DAY_MS
    except ValueError:
        raise UsageError(f"a day is such as 2024-01-01; asked for: {text!r}") from None


def table_of(store: TrafficStore, day: int) -> Table:
    """The ten busiest gateways of a day, and the day's total."""
    total = next(each for each in store.days() if each.day == day)
    found: Top = store.top(day)
    date = datetime.fromtimestamp(day * DAY_MS / 1000, UTC).date()
    table = Table(
        title=f"{date}: {total.tx / 1e9:,.3f} GB sent, {total.rx / 1e9:,.3f} GB received, {total.records:,} records"
    )
    for name in ("place", "sent most", "GB", "received most", "GB"):
        table.add_column(name, justify="left" if "most" in name else "right")
    for place, (sent, received) in enumerate(zip(found.sent, found.received, strict=True), 1):
        table.add_row(
            str(place), sent[0], f"{sent[1] / 1e9:,.3f}", received[0], f"{received[1] / 1e9:,.3f}"
        )
    return table
