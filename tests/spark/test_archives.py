"""The archives that set-up made fit the commands of a run: with -Xshare:on, Java refuses to start
if one does not.
"""

from __future__ import annotations

import subprocess
import zipfile

import pytest

from streambed import artifacts
from streambed.artifacts import jvm_commands
from streambed.artifacts.unsigned_jars import SIGNATURE

pytestmark = [pytest.mark.spark, pytest.mark.together(20)]


def starts_sharing(command: list[str], *arguments: str) -> bool:
    assert any("SharedArchiveFile" in word for word in command), (
        "fetch made no archive for this Java and these jars"
    )
    return (
        subprocess.run(
            [command[0], "-Xshare:on", *command[1:], *arguments],
            capture_output=True,
            timeout=60,
            check=False,
        ).returncode
        == 0
    )


def test_kafka_starts_from_its_archive():
    assert starts_sharing(
        artifacts.kafka_command(artifacts.find_java()), "kafka.Kafka", "--version"
    )


def test_spark_starts_from_its_archive_also_with_extra_jars(tmp_path):
    extra = tmp_path / "extra.jar"
    extra.write_bytes(artifacts.jars("kafka")[0].read_bytes())

    command = artifacts.spark_command(
        artifacts.find_java(), pyspark_home=artifacts.find_pyspark(), extra_jars=[extra]
    )

    assert starts_sharing(command, "--version")


def test_java_refuses_an_archive_made_for_other_jars():
    command = artifacts.kafka_command(artifacts.find_java())
    at = command.index("-cp") + 1
    command[at] = ":".join(reversed(command[at].split(":")))

    assert not starts_sharing(command, "kafka.Kafka", "--version")


@pytest.mark.parametrize(
    "main",
    [
        "org.apache.spark.deploy.master.Master",
        "org.apache.spark.deploy.worker.Worker",
        "org.apache.spark.executor.CoarseGrainedExecutorBackend",
    ],
)
def test_the_archive_serves_every_process_of_a_cluster(main):
    command = artifacts.spark_command(
        artifacts.find_java(), pyspark_home=artifacts.find_pyspark(), main=(main,)
    )

    told = [command[0], "-Xlog:class+load", *command[1:], "--help"]
    output = subprocess.run(told, capture_output=True, text=True, timeout=60, check=False).stdout

    (line,) = [line for line in output.splitlines() if f" {main} source:" in line]
    assert line.endswith("source: shared objects file (top)")


def test_no_jar_of_sparks_is_signed():
    for jar in jvm_commands.spark_class_path(artifacts.find_pyspark()):
        with zipfile.ZipFile(jar) as packed:
            assert not [name for name in packed.namelist() if SIGNATURE.fullmatch(name)], jar
