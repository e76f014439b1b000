"""Downloads and what is made of them: jars by a lock with checksums, Java, class archives. Nothing of it happens during a run."""

from __future__ import annotations

from collections.abc import Iterable

from streambed.archives import SPARK_FLAGS, checkpoint_path, find_pyspark, kafka_checkpoint, kafka_command, spark_command
from streambed.jars import LOCKS, Download, Progress, cache, fetch_jars, jars
from streambed.java import Java, find_java
from streambed.training import make_archives, make_checkpoint

__all__ = [
    "LOCKS",
    "SPARK_FLAGS",
    "Java",
    "Progress",
    "cache",
    "checkpoint_path",
    "fetch",
    "find_java",
    "find_pyspark",
    "jars",
    "kafka_checkpoint",
    "kafka_command",
    "spark_command",
]


def fetch(kinds: Iterable[str], on_progress: Progress, *, download: Download | None = None) -> list[str]:
    """Provide all that these kinds of components need, once. Returns notes: what is less good than it could be."""
    wanted = [kind for kind in kinds if kind in LOCKS]
    if not wanted:
        return []
    fetch_jars(wanted, on_progress, download)
    java = find_java()
    if "kafka" in wanted:
        make_checkpoint(java, on_progress)
    return [*java.notes, *make_archives(wanted, java, on_progress)]
