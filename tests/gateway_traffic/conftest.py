"""One Java for the tests of a module; a certificate for servers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.missing_tools import lack


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


@pytest.fixture
def certificate(tmp_path) -> Path:
    """For 127.0.0.1, signed by itself, with its key in the same file."""
    if not shutil.which("openssl"):
        lack("no openssl to make a certificate with")
    wanted = [
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=gateways",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    made = tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", *wanted, "-keyout", made, "-out", tmp_path / "public.pem"],
        check=True,
        capture_output=True,
    )
    made.write_text(made.read_text() + (tmp_path / "public.pem").read_text())
    return made
