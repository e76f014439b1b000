import importlib.util
from pathlib import Path

import pytest

import streambed
from streambed.kinds.components import Kafka
from streambed.kinds.components.kafka.topic import Topic
from streambed.kinds.components.spark.failure import JobFailure, failure_of, failure_text
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


class JavaException:
    """What py4j shows of a Java exception."""

    def __init__(self, name, message, cause=None):
        self.name, self.message, self.cause = name, message, cause

    def getCause(self):
        return self.cause

    def getClass(self):
        return self

    def getName(self):
        return self.name

    def getMessage(self):
        return self.message


class StreamingQueryException(Exception):
    """As PySpark's: it holds the Java exception, and its text ends in a query plan."""

    def __init__(self, origin):
        super().__init__("[STREAM_FAILED] terminated\n=== Plan ===\nProject\n")
        self._origin = origin


class Query:
    """A streaming query that fails, with one source, as py4j shows it."""

    def __init__(self, subscribe):
        self._jsq = self
        self.subscribe = subscribe

    def streamingQuery(self):
        return self

    def analyzedPlan(self):
        return self

    def collectLeaves(self):
        return self

    def size(self):
        return 1

    def apply(self, index):
        return self

    def extraOptions(self):
        return {"subscribe": self.subscribe}

    def awaitTermination(self):
        cause = JavaException(UNKNOWN_TOPIC, "This server does not host this topic-partition.")
        raise StreamingQueryException(JavaException("java.util.Execution", "failed", cause))


UNKNOWN_TOPIC = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException"


def caught(run):
    try:
        run()
    except Exception as error:
        return error


def test_a_failed_query_is_shown_by_its_last_cause_not_by_its_plan(driver):
    text = driver.failure_text(caught(Query("linez, b").awaitTermination))

    assert text.splitlines()[-2:] == [
        "StreamingQueryException: [STREAM_FAILED] terminated",
        f"Caused by: {UNKNOWN_TOPIC}: This server does not host this topic-partition.",
    ]


def test_the_report_of_a_failed_query_names_its_topics(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMBED_RUN", str(tmp_path))
    monkeypatch.setenv("STREAMBED_PROCESS", "counter")

    driver.write_failure(caught(Query("linez, b").awaitTermination))

    assert failure_of(tmp_path, "counter") == JobFailure(
        exception=UNKNOWN_TOPIC,
        message="This server does not host this topic-partition.",
        unknown_topics=("linez", "b"),
    )


def test_an_error_of_python_leaves_no_report(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMBED_RUN", str(tmp_path))

    driver.write_failure(ValueError("no"))

    assert failure_of(tmp_path, "counter") is None


def test_a_crash_shows_only_frames_of_the_job(driver, tmp_path):
    job = tmp_path / "job.py"
    job.write_text("def half():\n    return 1 / 0\n\nhalf()\n")

    text = driver.failure_text(caught(lambda: driver.runpy.run_path(str(job))))

    frames = [line for line in text.splitlines() if line.startswith("  File")]
    not_this_test = [frame for frame in frames if __file__ not in frame]
    assert not_this_test == [
        f'  File "{job}", line 4, in <module>',
        f'  File "{job}", line 2, in half',
    ]
    assert text.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.parametrize(
    ("reads", "says"),
    [
        (
            ("lines",),
            "the job subscribes to 'linez', and no topic of that name is declared; it declares "
            "`reads: lines`",
        ),
        (
            (),
            "the job subscribes to 'linez', and no topic of that name is declared. "
            "Did you mean 'lines'?",
        ),
    ],
)
def test_an_unknown_topic_is_named_beside_the_declared_ones(reads, says):
    kafka = Kafka(name="kafka", nodes=["b"], topics={"lines": Topic()})
    failure = JobFailure(
        exception=UNKNOWN_TOPIC, message="not hosted", unknown_topics=("linez", "lines")
    )

    assert failure_text(failure, reads, {"kafka": kafka}) == says


def test_another_cause_is_given_as_it_is():
    failure = JobFailure(exception="java.lang.NullPointerException", message="metrics")

    assert failure_text(failure, (), {}) == "NullPointerException: metrics"
