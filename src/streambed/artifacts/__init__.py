"""What runs need besides Python packages: jars, Java, class archives, servers of stores.

`fetch` provides them. A run only demands that they are there.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

from streambed.artifacts import manifests
from streambed.artifacts.class_archives import make_archives, make_checkpoint
from streambed.artifacts.hadoop import (
    configuration_text,
    empty_names,
    empty_names_path,
    hdfs_class_path,
    hdfs_command,
)
from streambed.artifacts.hdfs_archive import ROLES, make_names
from streambed.artifacts.java import Java, find_java
from streambed.artifacts.jvm_commands import (
    CASSANDRA_MAIN,
    SPARK_FLAGS,
    archive_path,
    base_archive,
    cassandra_command,
    checkpoint_path,
    executor_java,
    find_pyspark,
    kafka_checkpoint,
    kafka_class_path,
    kafka_class_path_text,
    kafka_command,
    spark_archive,
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
    locked_jars_of,
    make_cache,
)
from streambed.artifacts.pyspark_releases import (
    connector_version,
    pyspark_version,
    same_release,
)
from streambed.artifacts.servers import (
    FOUND,
    UNPACKED,
    demand_unpacked,
    mongod,
    redis_server,
    server_home,
    server_version,
    unpack,
)
from streambed.artifacts.unsigned_jars import unsigned_copies
from streambed.errors import MissingError, UsageError, suggestion

__all__ = [
    "CASSANDRA_MAIN",
    "FOUND",
    "LOCKS",
    "NAMES",
    "SPARK_FLAGS",
    "UNPACKED",
    "Artifact",
    "Java",
    "Need",
    "Progress",
    "Step",
    "VersionedArtifact",
    "cache",
    "cassandra_command",
    "checkpoint_path",
    "configuration_text",
    "connector_version",
    "demand",
    "empty_names",
    "executor_java",
    "fetch",
    "find_java",
    "find_pyspark",
    "hdfs_command",
    "jars",
    "kafka_checkpoint",
    "kafka_class_path_text",
    "kafka_command",
    "make_cache",
    "mongod",
    "name_of",
    "pyspark_version",
    "redis_server",
    "same_release",
    "server_home",
    "spark_command",
    "spark_variables",
    "version_of",
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


@runtime_checkable
class VersionedArtifact(Artifact, Protocol):
    """An artifact whose version a run keeps in versions.json."""

    def version(self) -> str:
        """Its version; empty if it is not known."""


Need = str | Artifact
"""An artifact that a kind of component needs: one of NAMES, or an Artifact."""
NAMES = (*LOCKS, *FOUND)
"""The artifacts that this module provides."""


def name_of(need: Need) -> str:
    """The name of a need, whether it is a name or an Artifact."""
    return need if isinstance(need, str) else need.name


def version_of(need: Need) -> str:
    """The version of an artifact that a run uses; empty if it has none, or an unknown one."""
    if isinstance(need, str):
        return server_version(need)
    return need.version() if isinstance(need, VersionedArtifact) else ""


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
    fetch_jars([jar for name in wanted for jar in locked_jars_of(name)], on_progress, download)
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
    _refuse_damaged(need)


def made_files(name: str) -> list[Path]:
    """What `fetch` made for an artifact out of its jars; not all of it need be there."""
    if name in UNPACKED:
        return [server_home(name)]
    if name not in LOCKS:
        return []
    java = find_java()
    base = base_archive(java)
    bases = [base] if base else []
    if name == "kafka":
        return [checkpoint_path(), *bases, archive_path("kafka", java, kafka_class_path())]
    if name == "spark_job":
        home = find_pyspark()
        return [*bases, spark_archive(java, home), *unsigned_copies(home)]
    if name == "hdfs":
        archives = [archive_path(role, java, hdfs_class_path()) for role in ROLES]
        return [empty_names_path(), *bases, *archives]
    return bases


def _refuse_damaged(name: str) -> None:
    """Raise MissingError if a file that `fetch` made has been changed since."""
    for path in made_files(name):
        if path.exists() and (files := manifests.changed_files(path)):
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            what = f"{name} is damaged: {files[0]}{more} in {path} is not as it was made"
            raise MissingError(what, command=f"streambed fetch {name}")


def _refuse_unknown(name: str) -> None:
    if name not in NAMES:
        raise UsageError(f"there is no artifact '{name}'. {suggestion(name, NAMES)}")
