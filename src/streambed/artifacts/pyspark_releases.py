"""Which release of Spark our Kafka connector is for, and which one an interpreter has."""

from __future__ import annotations

import subprocess

from streambed.artifacts.locked_jars import locked_jars_of

KAFKA_CONNECTOR = ":spark-sql-kafka-"
VERSION_LIMIT_S = 20.0


def connector_version() -> str:
    """The version of Spark that the locked Kafka connector is for."""
    (connector,) = (jar for jar in locked_jars_of("spark_job") if KAFKA_CONNECTOR in jar.coordinate)
    return connector.coordinate.rpartition(":")[2]


def pyspark_version(interpreter: str) -> str:
    """The version of pyspark that an interpreter has; empty if it has none or does not run."""
    program = "import importlib.metadata as metadata; print(metadata.version('pyspark'))"
    try:
        asked = subprocess.run(
            [interpreter, "-c", program], capture_output=True, text=True, timeout=VERSION_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def same_release(one: str, other: str) -> bool:
    """Whether two versions differ at most in their last part: 4.1.0 and 4.1.1."""
    return one.split(".")[:2] == other.split(".")[:2]
