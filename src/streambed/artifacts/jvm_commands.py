"""Commands that start Kafka's and Spark's JVMs, and the class archives that make these start in
half the time.

An archive serves one build of Java and one list of jars, in one order. So there is one function for
each command, used when an archive is made and when it is used. A run never makes one: `fetch` does.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from streambed.artifacts.java import Java
from streambed.artifacts.locked_jars import cache, locked
from streambed.artifacts.unsigned_jars import unsigned
from streambed.errors import MissingError

KAFKA_FLAGS = (
    "-Xmx128m",
    "-Xms16m",
    "-Xss256k",
    "-XX:-UsePerfData",
    "-XX:ReservedCodeCacheSize=32m",
    "-XX:MinHeapFreeRatio=20",
    "-XX:MaxHeapFreeRatio=40",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
)
"""Many brokers share one machine: a small heap that is given back, and the compiler that is quick
to start.
"""
SPARK_FLAGS = (
    "-Xmx1g",
    "-Xss4m",
    "-XX:-UsePerfData",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
)
_OPENED = (
    *(
        "java.lang",
        "java.lang.invoke",
        "java.lang.reflect",
        "java.io",
        "java.net",
        "java.nio",
        "java.util",
        "java.util.concurrent",
    ),
    *(
        "java.util.concurrent.atomic",
        "jdk.internal.ref",
        "sun.nio.ch",
        "sun.nio.cs",
        "sun.security.action",
        "sun.util.calendar",
    ),
)
# What bin/spark-submit would add, without jdk.incubator.vector: the wheel's Java lacks that module,
# and it is optional.
_SPARK_OPTIONS = (
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
)
SPARK_TRAINING = Path(__file__).with_name("spark_archive.py")
SPARK_MAIN = "org.apache.spark.deploy.SparkSubmit"
EXECUTOR_JAVA = """#!/bin/sh
# Spark's workers take this for Java. It leaves out what the wheel's Java does not know and Spark does not need, and gives executors
# the class path for which there is a class archive, which Spark's own, with a *, never fits.
skip=
for word; do
  shift
  if [ "$skip" ]; then skip=; continue; fi
  case $word in
    --add-modules=jdk.incubator.vector) ;;
    -cp) skip=1 ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec {command} "$@"
"""
CASSANDRA_FLAGS = (
    *(
        "-Xmx192m",
        "-Xss512k",
        "-XX:-UsePerfData",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:+ExitOnOutOfMemoryError",
    ),
    *(
        f"--add-exports=java.base/{package}=ALL-UNNAMED"
        for package in ("java.lang.ref", "jdk.internal.misc", "sun.nio.ch")
    ),
    "--add-exports=java.management.rmi/com.sun.jmx.remote.internal.rmi=ALL-UNNAMED",
    *(
        f"--add-exports=java.rmi/sun.rmi.{package}=ALL-UNNAMED"
        for package in ("registry", "server", "transport.tcp")
    ),
    *(
        "--add-exports=java.sql/java.sql=ALL-UNNAMED",
        "--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED",
    ),
    *(
        f"--add-opens=java.base/java.{package}=ALL-UNNAMED"
        for package in ("io", "lang", "lang.module", "math", "net", "nio", "util")
    ),
    *(
        f"--add-opens=java.base/java.util.{package}=ALL-UNNAMED"
        for package in ("concurrent", "concurrent.atomic")
    ),
    *(
        f"--add-opens=java.base/jdk.internal.{package}=ALL-UNNAMED"
        for package in ("loader", "math", "module", "ref", "reflect", "util.jar")
    ),
    *(
        "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
        "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
    ),
    *(
        "-Djdk.attach.allowAttachSelf=true",
        "-Djava.security.manager=allow",
        "-Dcassandra-foreground=yes",
    ),
    # Nobody is there before the run: there is nothing to wait for.
    *(
        "-Dcassandra.ring_delay_ms=0",
        "-Dcassandra.skip_wait_for_gossip_to_settle=0",
        "-Dcassandra.superuser_setup_delay_ms=0",
    ),
)
CASSANDRA_MAIN = "org.apache.cassandra.service.CassandraDaemon"


def kafka_command(
    java: Java, *, flags: Sequence[str] = KAFKA_FLAGS, archive: bool = True
) -> list[str]:
    """Java with Kafka's flags and class path; add `kafka.Kafka server.properties`. Checks nothing:
    `jars("kafka")` does.
    """
    class_path = kafka_class_path()
    share = sharing(java, archive_path("kafka", java, class_path)) if archive else []
    return [str(java.path), *flags, *share, "-cp", joined(class_path)]


def spark_command(
    java: Java,
    *,
    pyspark_home: Path,
    flags: Sequence[str] = SPARK_FLAGS,
    extra_jars: Sequence[Path] = (),
    archive: bool = True,
    main: Sequence[str] = (SPARK_MAIN,),
) -> list[str]:
    """Java with Spark's flags, class path and main class; add `--conf k=v … pyspark-shell`, or what
    another main class wants.

    The Kafka and Avro connectors are on the class path. Extra jars come last, where they leave the
    archive valid.
    """
    class_path = spark_class_path(pyspark_home)
    share = sharing(java, spark_archive(java, pyspark_home)) if archive else []
    return [
        str(java.path),
        *flags,
        *share,
        *_SPARK_OPTIONS,
        "-cp",
        joined([*class_path, *extra_jars]),
        *main,
    ]


def executor_java(command: Sequence[str]) -> str:
    """A program that a worker takes for Java: executors start with this command of Java, flags and
    class path.
    """
    return EXECUTOR_JAVA.format(command=shlex.join(command))


def spark_variables(pyspark_home: Path) -> dict[str, str]:
    """What Spark's own start scripts would set; the version of Scala is in the name of a jar."""
    library = next(
        (pyspark_home / "jars").glob("scala-library-*.jar"), Path("scala-library-2.13.0.jar")
    )
    version = library.stem.removeprefix("scala-library-").split(".")
    return {"SPARK_HOME": str(pyspark_home), "SPARK_SCALA_VERSION": ".".join(version[:2])}


def cassandra_command(java: Java, *, archive: bool = True) -> list[str]:
    """Java with Cassandra's flags and class path; add options and CASSANDRA_MAIN. Checks nothing:
    `jars("cassandra")` does.
    """
    class_path = cassandra_class_path()
    share = sharing(java, archive_path("cassandra", java, class_path)) if archive else []
    return [str(java.path), *CASSANDRA_FLAGS, *share, "-cp", joined(class_path)]


def cassandra_class_path() -> list[Path]:
    """Cassandra's jars, sorted."""
    return sorted(jar.path for jar in locked("cassandra"))


def kafka_class_path() -> list[Path]:
    """Kafka's jars, sorted."""
    return sorted(jar.path for jar in locked("kafka"))


def spark_class_path(pyspark_home: Path) -> list[Path]:
    """The jars inside pyspark, sorted, then the connectors, sorted."""
    return [
        *map(unsigned, sorted((pyspark_home / "jars").glob("*.jar"))),
        *sorted(jar.path for jar in locked("spark_job")),
    ]


def find_pyspark() -> Path:
    """Where this Python's pyspark lives, without importing it."""
    found = importlib.util.find_spec("pyspark")
    if not found or not found.origin:
        raise MissingError("pyspark is not installed beside streambed. Run scripts/setup.")
    return (
        Path(found.origin).resolve().parent
    )  # An archive serves its jars by their names: links to one pyspark must not make several.


def kafka_checkpoint() -> Path:
    """The bootstrap.checkpoint of a freshly formatted node: each node's data directory begins with
    a copy of it.
    """
    path = checkpoint_path()
    if not path.exists():
        raise MissingError(f"{path} is missing", command="streambed fetch kafka")
    return path


def checkpoint_path() -> Path:
    """Where `fetch` keeps the checkpoint of this Kafka."""
    return archive_folder() / f"kafka-{digest(jar.sha256 for jar in locked('kafka'))}.checkpoint"


def archive_folder() -> Path:
    """Where `fetch` keeps what it made."""
    return cache() / "archives"


def archive_path(name: str, java: Java, class_path: Sequence[Path], *more: str) -> Path:
    """Where the archive for this Java and these jars is, if it has been made. The JVM compares
    times and sizes, so they count too.
    """
    return (
        archive_folder()
        / f"{name}-{digest([str(java.path), java.build, *map(_stamp, class_path), *more])}.jsa"
    )


def spark_archive(java: Java, pyspark_home: Path) -> Path:
    """Where Spark's archive is. What it holds depends on the program that was run to make it:
    another version makes another.
    """
    return archive_path("spark", java, spark_class_path(pyspark_home), SPARK_TRAINING.read_text())


def base_archive(java: Java) -> Path | None:
    """The archive of Java's own classes, on which ours rests; None if this Java brings one along,
    as the wheel's does not.
    """
    own = java.path.parent.parent / "lib" / "server" / "classes.jsa"
    return None if own.exists() else archive_path("java", java, [])


def sharing(java: Java, archive: Path) -> list[str]:
    """The option that makes a JVM use an archive and its base; nothing if there is none."""
    there = [str(path) for path in (base_archive(java), archive) if path and path.exists()]
    return [f"-XX:SharedArchiveFile={':'.join(there)}"] if there else []


def joined(class_path: Sequence[Path]) -> str:
    """A class path as Java reads it."""
    return ":".join(map(str, class_path))


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except FileNotFoundError:
        return f"{path} missing"
    return f"{path} {found.st_size} {int(found.st_mtime)}"


def digest(lines: Iterable[str]) -> str:
    """A short name for exactly these lines."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
