"""Batch job agent: runs a PySpark function over topics that were read back, and writes its answer.

The function takes a dictionary of data frames, one for each topic, and returns a data frame.
"""

from __future__ import annotations

import importlib.util
import traceback
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import SparkSession

from streambed.agents.agent import read_order
from streambed.record.codec import write_message
from streambed.record.orders import BatchJobOrder, Refusal

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
}
LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""For Spark inside this process: no other host needs to reach it."""
CONTENT = ("key", "value")


def function_of(order: BatchJobOrder) -> Any:
    """The function in the user's file."""
    path = Path(order.file)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(order.file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, order.function)


def answer(order: BatchJobOrder) -> pl.DataFrame:
    """Run the function on Spark."""
    builder = SparkSession.builder.appName("streambed check").master(order.master or "local[2]")
    settings = SETTINGS if order.master else {**SETTINGS, **LOOPBACK}
    for name, setting in settings.items():
        builder = builder.config(name, setting)
    spark = builder.getOrCreate()
    try:
        tables = {topic: table_of(spark, file) for topic, file in order.tables.items()}
        result = function_of(order)(tables)
        rows = [tuple(row) for row in result.collect()]
        return pl.DataFrame(rows, schema=result.columns, orient="row", infer_schema_length=None)
    finally:
        spark.stop()


def table_of(spark: SparkSession, file: str) -> Any:
    """A topic as a data frame of Spark. Its rows are sent: workers may not see the file."""
    frame = pl.read_ipc(file)
    kinds = {name: "binary" if frame.schema[name] == pl.Binary else "string" for name in CONTENT}
    schema = "partition int, offset long, timestamp timestamp, " + ", ".join(
        f"{name} {kind}" for name, kind in kinds.items()
    )
    columns = ["partition", "offset", "timestamp", *CONTENT]
    return spark.createDataFrame(frame.select(columns).rows(), schema)


def main(order: BatchJobOrder) -> None:
    """Write the answer, or why there is none as JSON beside it."""
    path = Path(order.answer)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        answer(order).write_ipc(path)
    except Exception as error:
        traceback.print_exc()
        says = f"{type(error).__name__}: {error}".partition("\n")[0]
        write_message(path.with_suffix(".json"), Refusal(says=says))


if __name__ == "__main__":
    main(read_order(BatchJobOrder))
