import importlib.util
from pathlib import Path

import pytest

import streambed
from streambed.record import codec
from streambed.record.orders import SparkDriverOrder

PROGRAM = Path(streambed.__file__).parent / "agents" / "spark_driver.py"
JARS = "/cache/unsigned/a/pyspark/jars/a.jar:/ours/pyspark/jars/core.jar:/cache/kafka.jar"
COMMAND = ["java", "-XX:SharedArchiveFile=a.jsa", "-cp", JARS, "Main"]


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

    assert driver.own_class_path(COMMAND) == [
        "java",
        "-cp",
        f"{tmp_path}/jars/theirs.jar:/cache/kafka.jar",
        "Main",
    ]


def test_a_missing_module_is_named_with_what_to_do(driver):
    advice = driver.advice_on("ModuleNotFoundError: No module named 'saying'", "job.py")

    assert "the job job.py needs the Python module 'saying'" in advice
    assert "`python_path`" in advice


def test_other_errors_speak_for_themselves(driver):
    assert driver.advice_on("division by zero", "job.py") == ""


def test_its_order_is_read_from_a_file(driver, tmp_path, monkeypatch):
    job = tmp_path / "job.py"
    job.write_text("def (")
    order = SparkDriverOrder(java=("java",), settings={}, job=str(job))
    codec.write_message(tmp_path / "order.json", order)
    monkeypatch.setattr("sys.argv", ["spark_driver.py", str(tmp_path / "order.json")])

    with pytest.raises(SyntaxError, match="invalid syntax"):
        driver.main()
