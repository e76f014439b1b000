"""One Java for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from gateway_traffic.jobs.job import session
    from tests.support.spark_session import spark_session

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": f"{folder}/local",
    }
    begin = partial(
        session,
        name="tests",
        master="local[2]",
        partitions=2,
        state_store="hdfs",
        settings=settings,
    )
    with spark_session(folder, begin) as spark:
        yield spark
