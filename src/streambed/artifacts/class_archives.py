"""Make class archives (class-data sharing): run a broker and a Spark job once on loopback.

Their JVMs write the classes that they loaded when they exit.
"""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from streambed.artifacts.hdfs_archive import make_hdfs
from streambed.artifacts.java import Java
from streambed.artifacts.jvm_commands import (
    SPARK_FLAGS,
    archive_folder,
    archive_path,
    base_archive,
    checkpoint_path,
    executor_java,
    find_pyspark,
    kafka_class_path,
    kafka_command,
    spark_archive,
    spark_command,
    spark_variables,
)
from streambed.artifacts.locked_jars import Progress, Step, make_cache
from streambed.artifacts.manifests import is_whole
from streambed.artifacts.one_shot import (
    background_process,
    die_with_parent,
    dump_classes_at_exit,
    free_ports,
    last_line,
    listens,
    publish,
    run_to_end,
    temporary_folder,
    write,
)
from streambed.artifacts.spark_archive import EXECUTOR
from streambed.artifacts.unsigned_jars import make_unsigned
from streambed.errors import ProcessError
from streambed.record import wait_until

CLUSTER = base64.urlsafe_b64encode(b"streambed train.").decode().rstrip("=")
START_LIMIT_S = 60
TOOL_LIMIT_S = 60
STOP_LIMIT_S = 60
SPARK_LIMIT_S = 400

LOGGING = """
appender.file.type = File
appender.file.name = file
appender.file.fileName = {folder}/broker.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c{{1}} %m%n
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""
PROPERTIES = """
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={folder}/log
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=2097152
"""


def make_archives(kinds: Iterable[str], java: Java, on_progress: Progress) -> list[str]:
    """Make the missing archives. Returns a note for each that fails: programs only start slower."""
    make_cache(archive_folder().name)
    notes: list[str] = []
    for kind, make in MAKERS.items():
        if kind not in kinds:
            continue
        try:
            _make_base(java, on_progress)
            make(java, on_progress)
        except (OSError, ProcessError, subprocess.SubprocessError) as error:
            notes.append(f"no class archive for {kind}, which will start more slowly: {error}")
    return notes


def make_checkpoint(java: Java, on_progress: Progress) -> None:
    """Format a node with Kafka's own tool and keep the checkpoint that each node starts from."""
    path = checkpoint_path()
    if is_whole(path):
        return
    on_progress(Step(stage="make", what="formatting a Kafka node…"))
    make_cache(path.parent.name)
    with temporary_folder() as folder:
        _format(java, folder)
        publish(folder / "log" / "bootstrap.checkpoint", path)


def _make_base(java: Java, on_progress: Progress) -> None:
    path = base_archive(java)
    if not path or is_whole(path):
        return
    on_progress(Step(stage="make", what="making Java's class archive (about 3 s)…"))
    with temporary_folder() as folder:
        archive = folder / "java.jsa"
        flags = ["-XX:+UseSerialGC", "-Xshare:dump", f"-XX:SharedArchiveFile={archive}"]
        run_to_end([str(java.path), *flags], folder / "java.log", TOOL_LIMIT_S)
        publish(archive, path)


def _make_kafka(java: Java, on_progress: Progress) -> None:
    path = archive_path("kafka", java, kafka_class_path())
    if is_whole(path):
        return
    on_progress(Step(stage="make", what="making Kafka's class archive (about 15 s)…"))
    with temporary_folder() as folder:
        archive = folder / "kafka.jsa"
        command = dump_classes_at_exit(kafka_command(java, archive=False), java, archive)
        with _broker(java, folder, command) as bootstrap:
            _write_and_read(java, bootstrap, folder)
        publish(archive, path)


def _make_spark(java: Java, on_progress: Progress) -> None:
    home = find_pyspark()
    make_unsigned(home)
    path = spark_archive(java, home)
    if is_whole(path):
        return
    on_progress(Step(stage="make", what="making Spark's class archive (about 50 s)…"))
    with temporary_folder() as folder, ExitStack() as stack:
        archive = folder / "spark.jsa"
        bootstrap = ""
        if all(jar.exists() for jar in kafka_class_path()):
            bootstrap = stack.enter_context(_broker(java, folder, kafka_command(java)))
        spark = spark_command(java, pyspark_home=home, archive=False)
        command = [*die_with_parent(), *dump_classes_at_exit(spark, java, archive)]
        job = [sys.executable, "-m", "streambed.artifacts.spark_archive", bootstrap, str(folder)]
        java_home = _write_executor_java(java, home, folder)
        variables = {**spark_variables(home), "JAVA_HOME": str(java_home)}
        run_to_end([*job, *command], folder / "spark.log", SPARK_LIMIT_S, variables)
        publish(archive, path)


def _write_executor_java(java: Java, home: Path, folder: Path) -> Path:
    """Write a JAVA_HOME for executors whose Java logs the classes that it loads."""
    log_classes = f"-Xlog:class+load:file={folder / EXECUTOR}"
    program = folder / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    command = spark_command(
        java, pyspark_home=home, flags=(*SPARK_FLAGS, log_classes), archive=False, main=()
    )
    write(program, executor_java(command))
    program.chmod(0o755)
    return folder / "java"


MAKERS = {"kafka": _make_kafka, "spark_job": _make_spark, "hdfs": make_hdfs}


@contextmanager
def _broker(java: Java, folder: Path, command: list[str]) -> Iterator[str]:
    """Run a broker on loopback and yield its address; an orderly stop lets it dump its classes."""
    port = _format(java, folder)
    log4j = write(folder / "log4j2.properties", LOGGING.format(folder=folder))
    logging = f"-Dlog4j2.configurationFile={log4j}"
    broker = [*command, logging, "kafka.Kafka", str(folder / "server.properties")]
    log = folder / "broker.out"
    with background_process(broker, log) as process:
        answers = wait_until(
            lambda: process.poll() is not None or listens(port), limit_s=START_LIMIT_S, step_s=0.1
        )
        if not answers or process.poll() is not None:
            raise ProcessError(f"the broker did not start: {last_line(log)}")
        yield f"127.0.0.1:{port}"
        process.terminate()
        process.wait(STOP_LIMIT_S)


def _format(java: Java, folder: Path) -> int:
    """Format a node's data directory in a folder; returns the port that its broker will use."""
    port, controller = free_ports(2)
    text = PROPERTIES.format(folder=folder, broker=port, controller=controller)
    properties = write(folder / "server.properties", text)
    tool = ["kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(properties)]
    run_to_end([*kafka_command(java), *tool], folder / "format.log", TOOL_LIMIT_S)
    return port


def _write_and_read(java: Java, bootstrap: str, folder: Path) -> None:
    """Write and read a few records, so that the broker loads the classes for it."""
    topic = ["--bootstrap-server", bootstrap, "--topic", "lines"]
    producer = ["org.apache.kafka.tools.ProducerPerformance", *topic]
    producer += ["--num-records", "9", "--record-size", "9", "--throughput", "-1"]
    consumer = ["org.apache.kafka.tools.consumer.ConsoleConsumer", *topic]
    consumer += [
        "--group",
        "readers",
        "--from-beginning",
        "--max-messages",
        "9",
        "--timeout-ms",
        "30000",
    ]
    run_to_end([*kafka_command(java), *producer], folder / "write.log", TOOL_LIMIT_S)
    run_to_end([*kafka_command(java), *consumer], folder / "read.log", TOOL_LIMIT_S)
