"""One Java for the tests of a module."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from gateway_traffic.jobs.job import session
from streambed.artifacts import find_java, find_pyspark, spark_command
from streambed.spark_training import start_gateway


@contextmanager
def spark_session(folder: Path) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    jvm = start_gateway(spark_command(find_java(), pyspark_home=find_pyspark()), folder)
    try:
        settings = {"spark.ui.enabled": "false", "spark.sql.warehouse.dir": f"{folder}/warehouse", "spark.local.dir": f"{folder}/local"}
        spark = session(name="tests", master="local[2]", partitions=2, state_store="hdfs", settings=settings)
        yield spark
        spark.stop()
        SparkContext._gateway.shutdown()
    finally:
        SparkContext._gateway = SparkContext._jvm = None  # The next module starts its own.
        for name in ("PYSPARK_PYTHON", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
            os.environ.pop(name, None)
        assert jvm.stdin
        jvm.stdin.close()
        jvm.wait(30)
