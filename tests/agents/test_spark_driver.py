import importlib.util
from pathlib import Path

import pytest

import streambed

PROGRAM = Path(streambed.__file__).parent / "agents" / "spark_driver.py"
COMMAND = ["java", "-XX:SharedArchiveFile=a.jsa", "-cp", "/ours/pyspark/jars/core.jar:/cache/kafka.jar", "Main"]


@pytest.fixture
def driver():
    specification = importlib.util.spec_from_file_location("driver_under_test", PROGRAM)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_our_own_interpreter_keeps_the_command_and_its_archive(driver):
    driver.HOME = "/ours/pyspark"

    assert driver.own_class_path(COMMAND) == COMMAND


def test_another_interpreter_brings_its_own_spark_and_no_archive(driver, tmp_path):
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "theirs.jar").touch()
    driver.HOME = str(tmp_path)

    assert driver.own_class_path(COMMAND) == ["java", "-cp", f"{tmp_path}/jars/theirs.jar:/cache/kafka.jar", "Main"]
