"""A small streaming job, run once to learn which classes Spark loads. A program of its own: it ends with its JVM.

python -m streambed.spark_training BOOTSTRAP FOLDER java …     (BOOTSTRAP may be empty: then Kafka's classes are not learned)
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from streambed.record import wait_until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GATEWAY_LIMIT_S = 120
QUERY_LIMIT_S = 120
EXIT_LIMIT_S = 180


def main() -> None:
    """Start the JVM, run the job, and wait until the JVM has written its archive and ended."""
    bootstrap, folder, *java = sys.argv[1:]
    jvm = start_gateway(java, Path(folder))
    try:
        train(bootstrap, Path(folder))
        assert jvm.stdin
        jvm.stdin.close()  # The gateway ends when its input does.
        jvm.wait(EXIT_LIMIT_S)
    finally:
        jvm.kill()


def start_gateway(java: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start Spark's JVM and tell pyspark how to reach it."""
    answer = folder / "gateway"
    settings = {
        "spark.master": "local[2]",
        "spark.ui.port": "0",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(folder),
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    options = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    environment = {
        **os.environ,
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(answer),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    jvm = subprocess.Popen([*java, *options, "pyspark-shell"], stdin=subprocess.PIPE, env=environment)
    wait_until(lambda: answer.exists() or jvm.poll() is not None, limit_s=GATEWAY_LIMIT_S)
    port, length = struct.unpack(">ii", answer.read_bytes()[:8])
    os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = answer.read_bytes()[8 : 8 + length].decode()
    return jvm


def train(bootstrap: str, folder: Path) -> None:
    """Count words: Kafka to Kafka, with state, a checkpoint, JSON and a Python callback, as jobs commonly do."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    spark = SparkSession.builder.getOrCreate()
    lines = spark.range(100).select(f.to_json(f.struct(f.lit("to be or not to be").alias("line"))).alias("value"))
    if bootstrap:
        lines.write.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("topic", "lines").save()
        source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
        stream = source.option("subscribe", "lines").option("startingOffsets", "earliest").load()
    else:
        lines.write.text(str(folder / "lines"))
        stream = spark.readStream.text(str(folder / "lines"))
    line = f.from_json(f.col("value").cast("string"), "line string")["line"]
    counts = stream.select(f.explode(f.split(line, " ")).alias("key")).groupBy("key").count()
    values = counts.select("key", f.to_json(f.struct("key", "count")).alias("value"))
    if bootstrap:
        sink = values.writeStream.outputMode("update").trigger(availableNow=True).format("kafka")
        sink = sink.option("kafka.bootstrap.servers", bootstrap).option("topic", "counts")
        sink.option("checkpointLocation", str(folder / "written")).start().awaitTermination(QUERY_LIMIT_S)
    called = values.writeStream.outputMode("update").trigger(availableNow=True).foreachBatch(collect)
    called.option("checkpointLocation", str(folder / "called")).start().awaitTermination(QUERY_LIMIT_S)
    spark.stop()


def collect(batch: DataFrame, number: int) -> None:
    """What a job does with a batch in Python."""
    batch.collect()


if __name__ == "__main__":
    main()
