"""A small streaming job, run once to learn which classes Spark loads. A separate program: it ends
with its JVM.

python -m streambed.artifacts.spark_archive BOOTSTRAP FOLDER java …     (BOOTSTRAP may be empty:
then Kafka's classes are not learned)

The JVM is a driver that runs its tasks itself, then a driver, a master and a worker in one, and in
the end it loads what an executor loaded, so that one archive serves all four. Executors are started
with the Java of JAVA_HOME, which notes in FOLDER/executor what it loads.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from streambed.record import wait_until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

GATEWAY_LIMIT_S = 120
QUERY_LIMIT_S = 120
EXIT_LIMIT_S = 180
ANSWER_LIMIT_S = 60
EXECUTOR = "executor"
"""The file in which an executor notes which classes it loads."""
MAINS = (
    "org.apache.spark.deploy.JsonProtocol",
    "org.apache.spark.deploy.master.Master",
    "org.apache.spark.deploy.master.MasterArguments",
    "org.apache.spark.deploy.worker.Worker",
    "org.apache.spark.deploy.worker.WorkerArguments",
)
LOADED = re.compile(r"\] ([\w.$]+) source: (?:file|jrt):")
"""A line of the note; classes made on the fly have no file."""


def main() -> None:
    """Start the JVM, run the job, and wait until the JVM has written its archive and ended."""
    bootstrap, folder, *java = sys.argv[1:]
    jvm = start_gateway(java, Path(folder))
    try:
        train(bootstrap, Path(folder))
        train_cluster()
        load_classes(Path(folder) / EXECUTOR)
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
    jvm = subprocess.Popen(
        [*java, *options, "pyspark-shell"], stdin=subprocess.PIPE, env=environment
    )
    wait_until(lambda: answer.exists() or jvm.poll() is not None, limit_s=GATEWAY_LIMIT_S)
    port, length = struct.unpack(">ii", answer.read_bytes()[:8])
    os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = answer.read_bytes()[8 : 8 + length].decode()
    return jvm


def train(bootstrap: str, folder: Path) -> None:
    """Count words: Kafka to Kafka, with state, a checkpoint, JSON and a Python callback, as jobs
    commonly do.
    """
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    if bootstrap:
        lines = kafka_lines(spark, bootstrap)
    else:
        sample_lines(spark).write.text(str(folder / "lines"))
        lines = spark.readStream.text(str(folder / "lines"))
    counts = word_counts(lines)
    if bootstrap:
        sink = all_at_once(counts).format("kafka").option("kafka.bootstrap.servers", bootstrap)
        run_query(sink.option("topic", "counts"), checkpoint=folder / "written")
    run_query(all_at_once(counts).foreachBatch(collect), checkpoint=folder / "called")
    spark.stop()


def sample_lines(spark: SparkSession) -> DataFrame:
    """A hundred lines as JSON."""
    from pyspark.sql import functions as f

    line = f.struct(f.lit("to be or not to be").alias("line"))
    return spark.range(100).select(f.to_json(line).alias("value"))


def kafka_lines(spark: SparkSession, bootstrap: str) -> DataFrame:
    """Write the lines to a topic, and return a stream that reads it."""
    sink = sample_lines(spark).write.format("kafka")
    sink.option("kafka.bootstrap.servers", bootstrap).option("topic", "lines").save()
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    return source.option("subscribe", "lines").option("startingOffsets", "earliest").load()


def word_counts(lines: DataFrame) -> DataFrame:
    """How often each word occurs, as keys and values for Kafka."""
    from pyspark.sql import functions as f

    line = f.from_json(f.col("value").cast("string"), "line string")["line"]
    words = lines.select(f.explode(f.split(line, " ")).alias("key"))
    counts = words.groupBy("key").count()
    return counts.select("key", f.to_json(f.struct("key", "count")).alias("value"))


def all_at_once(counts: DataFrame) -> DataStreamWriter:
    """A writer of updates that takes everything available and ends."""
    return counts.writeStream.outputMode("update").trigger(availableNow=True)


def run_query(writer: DataStreamWriter, *, checkpoint: Path) -> None:
    """Start a query and wait for its end."""
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination(QUERY_LIMIT_S)


def train_cluster() -> None:
    """Count on a worker: Spark can have a master and workers in the driver's JVM, but executors are
    always separate processes.
    """
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local-cluster[1,1,512]")
        .config("spark.executor.memory", "512m")
        .getOrCreate()
    )
    spark.range(100).repartition(2).count()
    with urllib.request.urlopen(
        f"{spark.sparkContext.uiWebUrl}/environment/", timeout=ANSWER_LIMIT_S
    ) as page:
        page.read()  # Masters are asked for their page too.
    spark.stop()


def load_classes(noted: Path) -> None:
    """Load the classes that an executor loaded, and the main classes of masters and workers."""
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkContext

    loader = SparkContext._jvm.java.lang.ClassLoader.getSystemClassLoader()  # type: ignore[union-attr]
    for name in (*MAINS, *LOADED.findall(noted.read_text())):
        with suppress(Py4JJavaError):  # Some are made where they are needed, and are in no jar.
            loader.loadClass(name)


def collect(batch: DataFrame, number: int) -> None:
    """Handle a batch in Python, as jobs with foreachBatch do."""
    batch.repartition(2).count()
    batch.collect()


if __name__ == "__main__":
    main()
