"""What runs need beside Python packages: jars, Java, class archives, servers of stores.

`fetch` provides them. A run only demands that they are there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from streambed.artifacts.class_archives import make_archives, make_checkpoint
from streambed.artifacts.hadoop import configuration_text, empty_names, hdfs_command
from streambed.artifacts.hdfs_archive import make_names
from streambed.artifacts.java import Java, find_java
from streambed.artifacts.jvm_commands import (
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
from streambed.artifacts.locked_jars import (
    LOCKS,
    Download,
    Progress,
    Step,
    cache,
    fetch_jars,
    jars,
    locked,
)
from streambed.artifacts.servers import (
    FOUND,
    UNPACKED,
    demand_unpacked,
    mongod,
    redis_server,
    server_home,
    unpack,
)
from streambed.errors import UsageError, suggestion

__all__ = [
    "CASSANDRA_MAIN",
    "LOCKS",
    "NAMES",
    "SPARK_FLAGS",
    "Artifact",
    "Java",
    "Need",
    "Progress",
    "Step",
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
    "name_of",
    "redis_server",
    "server_home",
    "spark_command",
    "spark_variables",
]


class Artifact(Protocol):
    """An artifact that a kind from another package needs, fetched before a run."""

    @property
    def name(self) -> str:
        """A name that no other artifact has."""

    def fetch(self, on_progress: Progress) -> list[str]:
        """Provide it if it is missing. Returns notes on what works less well than it could."""

    def demand(self) -> None:
        """Raise MissingError, with the command to run, if it is missing."""


Need = str | Artifact
"""An artifact that a kind of component needs: one of NAMES, or an Artifact."""
NAMES = (*LOCKS, *FOUND)
"""The artifacts that this module provides."""


def name_of(need: Need) -> str:
    """The name of a need, whether it is a name or an Artifact."""
    return need if isinstance(need, str) else need.name


def fetch(
    needs: Iterable[Need], on_progress: Progress, *, download: Download | None = None
) -> list[str]:
    """Provide these artifacts, each once. Returns notes on what works less well than it could."""
    wanted = {name_of(need): need for need in needs}
    names = [need for need in wanted.values() if isinstance(need, str)]
    notes = _fetch_named(names, on_progress, download)
    for need in wanted.values():
        if not isinstance(need, str):
            notes += need.fetch(on_progress)
    return notes


def _fetch_named(names: list[str], on_progress: Progress, download: Download | None) -> list[str]:
    for name in names:
        _refuse_unknown(name)
        if name in FOUND:
            demand(name)
    wanted = [name for name in names if name in LOCKS]
    if not wanted:
        return []
    fetch_jars([jar for name in wanted for jar in locked(name)], on_progress, download)
    for name in wanted:
        if name in UNPACKED:
            unpack(name, on_progress)
    if not set(wanted) - set(UNPACKED):
        return []
    java = find_java()
    if "kafka" in wanted:
        make_checkpoint(java, on_progress)
    if "hdfs" in wanted:
        make_names(java, on_progress)
    return [*java.notes, *make_archives(wanted, java, on_progress)]


def demand(need: Need) -> None:
    """Raise MissingError, with the command to run, if an artifact is missing."""
    if not isinstance(need, str):
        need.demand()
        return
    _refuse_unknown(need)
    if need in FOUND:
        FOUND[need]()
    elif need in UNPACKED:
        # Only checked jars are unpacked, so the jar itself is no longer needed.
        demand_unpacked(need)
    else:
        jars(need)


def _refuse_unknown(name: str) -> None:
    if name not in NAMES:
        raise UsageError(f"there is no artifact '{name}'. {suggestion(name, NAMES)}")
