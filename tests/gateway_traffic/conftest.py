"""One Java for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from spark_session import spark_session

    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session
