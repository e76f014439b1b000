"""One Java for the tests of a module."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from streambed.artifacts import find_java, find_pyspark, spark_command
from streambed.artifacts.spark_archive import start_gateway


@contextmanager
def spark_session(folder: Path, begin: Callable[[], SparkSession]) -> Iterator[SparkSession]:
    """What `begin` makes. Its Java is started as runs start it, so that the wheel's serves as
    well.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    jvm = start_gateway(spark_command(find_java(), pyspark_home=find_pyspark()), folder)
    try:
        spark = begin()
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
