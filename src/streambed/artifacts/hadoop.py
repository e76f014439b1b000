"""Commands that start HDFS: Hadoop's server jar, with the Hadoop client jars of pyspark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from streambed.artifacts.java import Java
from streambed.artifacts.jvm_commands import (
    archive_folder,
    archive_path,
    class_path_text,
    digest,
    find_pyspark,
    share_options,
)
from streambed.artifacts.locked_jars import locked_jars_of
from streambed.errors import MissingError

Role = Literal["namenode", "datanode"]
MAINS: dict[Role, str] = {
    "namenode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
    "datanode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
}
HDFS_FLAGS = (
    "-Xms16m",
    "-Xss512k",
    "-XX:-UsePerfData",
    "-XX:ReservedCodeCacheSize=32m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MinHeapFreeRatio=20",
    "-XX:MaxHeapFreeRatio=40",
    "-Dlog4j2.level=WARN",
)
"""Many servers share one machine, as with Kafka's."""
_OF_PYSPARK = ("hadoop-client-", "jcl-over-slf4j-", "log4j-", "slf4j-api-")


def hdfs_class_path() -> list[Path]:
    """The jars of the servers, then pyspark's jars of Hadoop's client and of logging, sorted."""
    pyspark_jars = (find_pyspark() / "jars").glob("*.jar")
    client = sorted(jar for jar in pyspark_jars if jar.name.startswith(_OF_PYSPARK))
    return [*(jar.path for jar in locked_jars_of("hdfs")), *client]


def hdfs_command(
    java: Java, role: Role, configuration: Path, *, heap_mib: int = 128, archive: bool = True
) -> list[str]:
    """Java as a name node or a data node; options of the server may be appended."""
    class_path = hdfs_class_path()
    share = share_options(java, archive_path(role, java, class_path)) if archive else []
    # A configuration folder on the class path would rule out a class archive.
    options = ["-conf", str(configuration)]
    return [
        str(java.path),
        *HDFS_FLAGS,
        f"-Xmx{heap_mib}m",
        *share,
        "-cp",
        class_path_text(class_path),
        MAINS[role],
        *options,
    ]


def configuration_text(settings: Mapping[str, str]) -> str:
    """Settings as Hadoop's XML configuration."""
    from xml.sax.saxutils import escape

    lines = [
        f"<property><name>{escape(key)}</name><value>{escape(text)}</value></property>"
        for key, text in settings.items()
    ]
    return "\n".join(["<configuration>", *lines, "</configuration>", ""])


def empty_names() -> Path:
    """The folder of a new name node, copied into each name node's data directory."""
    path = empty_names_path()
    if not path.is_dir():
        raise MissingError(f"{path} is missing", command="streambed fetch hdfs")
    return path


def empty_names_path() -> Path:
    """Where `fetch` keeps the folder of a formatted name node."""
    return archive_folder() / f"hdfs-{digest(jar.sha256 for jar in locked_jars_of('hdfs'))}.names"
