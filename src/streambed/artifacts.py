"""Downloads and what is made of them: jars by a lock with checksums, Java, class archives, servers. Nothing of it happens during a run."""

from __future__ import annotations

from collections.abc import Iterable

from streambed.archives import (
    CASSANDRA_MAIN,
    SPARK_FLAGS,
    cassandra_command,
    checkpoint_path,
    executor_java,
    find_pyspark,
    kafka_checkpoint,
    kafka_command,
    spark_command,
    spark_variables,
)
from streambed.hadoop import configuration_text, empty_names, hdfs_command
from streambed.hdfs_training import make_names
from streambed.jars import LOCKS, Download, Progress, cache, fetch_jars, jars, locked
from streambed.java import Java, find_java
from streambed.servers import FOUND, UNPACKED, demand_unpacked, mongod, redis_server, server_home, unpack
from streambed.training import make_archives, make_checkpoint

__all__ = [
    "CASSANDRA_MAIN",
    "LOCKS",
    "SPARK_FLAGS",
    "Java",
    "Progress",
    "cache",
    "cassandra_command",
    "checkpoint_path",
    "configuration_text",
    "demand",
    "empty_names",
    "executor_java",
    "fetch",
    "find_java",
    "find_pyspark",
    "hdfs_command",
    "jars",
    "kafka_checkpoint",
    "kafka_command",
    "mongod",
    "redis_server",
    "server_home",
    "spark_command",
    "spark_variables",
]


def fetch(kinds: Iterable[str], on_progress: Progress, *, download: Download | None = None) -> list[str]:
    """Provide all that these kinds of components need, once. Returns notes: what is less good than it could be."""
    kinds = list(kinds)
    for kind in FOUND:
        if kind in kinds:
            demand(kind)
    wanted = [kind for kind in kinds if kind in LOCKS]
    if not wanted:
        return []
    fetch_jars([jar for kind in wanted for jar in locked(kind)], on_progress, download)
    for kind in (kind for kind in wanted if kind in UNPACKED):
        unpack(kind, on_progress)
    if not set(wanted) - set(UNPACKED):
        return []
    java = find_java()
    if "kafka" in wanted:
        make_checkpoint(java, on_progress)
    if "hdfs" in wanted:
        make_names(java, on_progress)
    return [*java.notes, *make_archives(wanted, java, on_progress)]


def demand(kind: str) -> None:
    """MissingError, with what to do, if something that a kind needs is not there."""
    if kind in FOUND:
        FOUND[kind]()
    elif kind in UNPACKED:
        demand_unpacked(kind)  # What was unpacked from a jar with the right checksum needs the jar no more.
    else:
        jars(kind)
