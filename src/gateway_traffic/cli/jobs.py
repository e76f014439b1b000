"""The command that runs the streaming job, and what other commands share with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table
from typer import Option

from gateway_traffic.cli.servers import Bootstrap
from gateway_traffic.errors import UsageError
from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.jobs.source import JobOptions
from gateway_traffic.records import DAY_MS, ENCODINGS, Serialisation, Version
from gateway_traffic.stores.opening import open_store
from gateway_traffic.stores.store import TrafficStore

StoreAddress = Annotated[
    str, Option(help="Where the results are: a file, or cassandra://HOST:PORT/KEYSPACE.")
]


class StateStore(StrEnum):
    """Where Spark keeps its state between batches."""

    HDFS = "hdfs"
    ROCKSDB = "rocksdb"


VersionOption = Annotated[Version, Option(help="Which records; each version has its topic.")]
CheckpointOption = Annotated[
    str,
    Option(help="Folder that a new start resumes from; for one version and number of partitions."),
]
SerialisationOption = Annotated[
    Serialisation | None,
    Option(help="Read only these; others become dead letters. Default: both."),
]
TopicOption = Annotated[str, Option(help="Default: traffic-VERSION.")]
LettersOption = Annotated[
    str,
    Option(help="Topic for what cannot be read, made if it is not there. Default: TOPIC-dead."),
]
TriggerOption = Annotated[
    str,
    Option(help="Time between batches, such as '500 milliseconds'; once: take what is there."),
]
LatenessOption = Annotated[
    str,
    Option(help="Records that come later than this after newer ones are dropped."),
]
DuplicatesOption = Annotated[
    bool, Option(help="Count repeated records twice: less state, for measurements.")
]
PartitionsOption = Annotated[
    int, Option(help="Partitions of the state, one task each; about as many as cores.", min=1)
]
StateStoreOption = Annotated[
    StateStore, Option(help="hdfs: in memory, with files; rocksdb: for more state than memory.")
]
OffsetsPerBatchOption = Annotated[
    int, Option(help="Maximum number of records in a batch; 0: no limit.", min=0)
]
LeastPartitionsOption = Annotated[
    int, Option(help="Tasks that read, if more than the topic's partitions.", min=0)
]
SparkMasterOption = Annotated[
    str, Option(help="local[2], spark://HOST:PORT …; default: as Spark is set up.")
]
SettingOption = Annotated[
    list[str] | None, Option(help="Any of Spark's settings, KEY=VALUE; may be repeated.")
]
ArchiveOption = Annotated[
    str,
    Option(help="Folder in which every readable record is archived, as Parquet by day."),
]
ModelOption = Annotated[
    Path | None,
    Option(help="Model from `gateway-traffic train`: anomalous hours go to the store too."),
]
PatienceOption = Annotated[
    float,
    Option(
        help="Seconds of failures without one more batch until the job gives up restarting.",
        min=0,
    ),
]
UiOption = Annotated[bool, Option("--ui", help="Serve Spark's page, usually on port 4040.")]
TopsOption = Annotated[bool, Option(help="Show the ten busiest gateways after each batch.")]


def job(
    bootstrap: Bootstrap,
    version: VersionOption,
    checkpoint: CheckpointOption,
    store: StoreAddress = "traffic.db",
    serialisation: SerialisationOption = None,
    topic: TopicOption = "",
    letters: LettersOption = "",
    trigger: TriggerOption = "1 second",
    lateness: LatenessOption = "1 day",
    duplicates: DuplicatesOption = False,
    partitions: PartitionsOption = 2,
    state_store: StateStoreOption = StateStore.HDFS,
    offsets_per_batch: OffsetsPerBatchOption = 0,
    least_partitions: LeastPartitionsOption = 0,
    spark_master: SparkMasterOption = "",
    setting: SettingOption = None,
    archive: ArchiveOption = "",
    model: ModelOption = None,
    patience: PatienceOption = 120.0,
    ui: UiOption = False,
    tops: TopsOption = True,
) -> None:
    """Compute each gateway's traffic per day from Kafka into a store, with Spark, until stopped.

    With the same checkpoint it resumes exactly where it stopped, also after a crash: the store has
    every record's traffic once. Spark needs its connectors spark-sql-kafka-0-10 and spark-avro, by
    --setting spark.jars.packages=… or from your cluster.
    """
    options = JobOptions(
        version=version,
        bootstrap=bootstrap,
        checkpoint=checkpoint,
        topic=topic,
        letters=letters,
        encodings=_encodings_of(serialisation),
        trigger=trigger,
        lateness=lateness,
        once=not duplicates,
        offsets_per_batch=offsets_per_batch,
        least_partitions=least_partitions,
        archive=archive,
    )
    spark_options: dict[str, Any] = {
        "name": f"{version} traffic",
        "master": spark_master,
        "partitions": partitions,
        "state_store": state_store,
        "settings": settings_of(setting or []),
        "ui": ui,
    }
    _run(options, spark_options, store, model=model, patience_s=patience, tops=tops)


def _encodings_of(serialisation: Serialisation | None) -> tuple[str, ...]:
    """The encodings of a serialisation; all encodings if it is None."""
    return tuple(
        name
        for name, encoding in ENCODINGS.items()
        if serialisation in (None, encoding.serialisation)
    )


def _run(
    options: JobOptions,
    spark_options: dict[str, Any],
    store: str,
    *,
    model: Path | None,
    patience_s: float,
    tops: bool,
) -> None:
    # Spark is slow to import, and the other commands do without it.
    from gateway_traffic.jobs import job as jobs
    from gateway_traffic.jobs.anomalies import read_model

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    anomaly_model = read_model(model) if model else None
    opened = open_store(store)
    topics = [options.dead_letter_topic]
    make_topics(options.bootstrap, topics, partitions=1, replicas=1, within_s=30.0)
    spark = jobs.session(**spark_options)
    spark.sparkContext.setLogLevel("ERROR")
    try:
        jobs.run(
            spark,
            options,
            opened,
            _batch_printer(opened, tops=tops),
            patience_s=patience_s,
            troubled=_print_trouble,
            model=anomaly_model,
        )
    finally:
        spark.stop()
        opened.close()


def _batch_printer(store: TrafficStore, *, tops: bool) -> Callable[[int, set[int]], None]:
    console = Console()

    def show(number: int, days: set[int]) -> None:
        console.print(f"batch {number}: {len(days)} days changed", highlight=False)
        if tops and days:
            console.print(table_of(store, max(days)))

    return show


def _print_trouble(says: str) -> None:
    print(f"gateway-traffic: the job was {says}", file=sys.stderr, flush=True)


def settings_of(words: list[str]) -> dict[str, str]:
    """Spark's settings from KEY=VALUE words."""
    if wrong := [word for word in words if "=" not in word]:
        raise UsageError(
            f"a setting is KEY=VALUE, such as spark.driver.memory=2g; asked for: {wrong[0]!r}"
        )
    return dict(word.split("=", 1) for word in words)


def day_of(text: str) -> int:
    """An ISO date as days since 1970."""
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000) // DAY_MS
    except ValueError:
        raise UsageError(f"a day is such as 2024-01-01; asked for: {text!r}") from None


def table_of(store: TrafficStore, day: int) -> Table:
    """The ten busiest gateways of a day, and the day's total."""
    total = next(each for each in store.days() if each.day == day)
    top = store.top(day)
    date = datetime.fromtimestamp(day * DAY_MS / 1000, UTC).date()
    table = Table(
        title=f"{date}: {total.tx / 1e9:,.3f} GB sent, {total.rx / 1e9:,.3f} GB received, "
        f"{total.records:,} records"
    )
    for name in ("place", "sent most", "GB", "received most", "GB"):
        table.add_column(name, justify="left" if "most" in name else "right")
    for place, (sent, received) in enumerate(zip(top.sent, top.received, strict=True), 1):
        table.add_row(
            str(place), sent[0], f"{sent[1] / 1e9:,.3f}", received[0], f"{received[1] / 1e9:,.3f}"
        )
    return table
