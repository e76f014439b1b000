"""Commands that start the JVMs of Kafka, Spark and Cassandra, and the paths of class archives.

A class archive halves the start-up time. It serves one build of Java and one list of jars in one
order, so the same function builds the command when an archive is made and when it is used. Only
`fetch` makes archives, a run never does.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from streambed.artifacts.java import Java
from streambed.artifacts.locked_jars import cache, locked_jars_of
from streambed.artifacts.unsigned_jars import unsigned_copy
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
"""Many brokers share one machine: use a small heap that shrinks again, and only the C1 compiler."""
SPARK_FLAGS = (
    "-Xmx1g",
    "-Xss4m",
    "-XX:-UsePerfData",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
)
_OPENED = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)
# The options of bin/spark-submit, without the optional module jdk.incubator.vector, which the
# wheel's Java lacks.
_SPARK_OPTIONS = (
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
)
SPARK_TRAINING = Path(__file__).with_name("spark_archive.py")
SPARK_MAIN = "org.apache.spark.deploy.SparkSubmit"
EXECUTOR_JAVA = """#!/bin/sh
# Spark's workers run this as Java. It drops a module that the wheel's Java lacks and Spark does
# not need, and gives executors the class path of the class archive: Spark's own class path has a
# wildcard, with which no archive can be used.
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
    "-Xmx192m",
    "-Xss512k",
    "-XX:-UsePerfData",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
    *(
        f"--add-exports=java.base/{package}=ALL-UNNAMED"
        for package in ("java.lang.ref", "jdk.internal.misc", "sun.nio.ch")
    ),
    "--add-exports=java.management.rmi/com.sun.jmx.remote.internal.rmi=ALL-UNNAMED",
    *(
        f"--add-exports=java.rmi/sun.rmi.{package}=ALL-UNNAMED"
        for package in ("registry", "server", "transport.tcp")
    ),
    "--add-exports=java.sql/java.sql=ALL-UNNAMED",
    "--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED",
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
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
    "-Djdk.attach.allowAttachSelf=true",
    "-Djava.security.manager=allow",
    "-Dcassandra-foreground=yes",
    # The ring is new, so there is no gossip to wait for.
    "-Dcassandra.ring_delay_ms=0",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.superuser_setup_delay_ms=0",
)
CASSANDRA_MAIN = "org.apache.cassandra.service.CassandraDaemon"


def kafka_command(
    java: Java, *, flags: Sequence[str] = KAFKA_FLAGS, archive: bool = True
) -> list[str]:
    """Java with Kafka's flags and class path; append `kafka.Kafka server.properties`.

    Does not check the jars: `jars("kafka")` does.
    """
    class_path = kafka_class_path()
    share = share_options(java, archive_path("kafka", java, class_path)) if archive else []
    return [str(java.path), *flags, *share, "-cp", class_path_text(class_path)]


def spark_command(
    java: Java,
    *,
    pyspark_home: Path,
    flags: Sequence[str] = SPARK_FLAGS,
    extra_jars: Sequence[Path] = (),
    archive: bool = True,
    main: Sequence[str] = (SPARK_MAIN,),
) -> list[str]:
    """Java with Spark's flags, class path and main class; append `--conf k=v … pyspark-shell`.

    The Kafka and Avro connectors are on the class path. Extra jars come last, which keeps the
    archive valid.
    """
    class_path = spark_class_path(pyspark_home)
    share = share_options(java, spark_archive(java, pyspark_home)) if archive else []
    return [
        str(java.path),
        *flags,
        *share,
        *_SPARK_OPTIONS,
        "-cp",
        class_path_text([*class_path, *extra_jars]),
        *main,
    ]


def executor_java(command: Sequence[str]) -> str:
    """The text of a script that workers run as Java: it starts executors with `command`."""
    return EXECUTOR_JAVA.format(command=shlex.join(command))


def spark_variables(pyspark_home: Path) -> dict[str, str]:
    """The variables that Spark's start scripts set; the Scala version is in the name of a jar."""
    library = next(
        (pyspark_home / "jars").glob("scala-library-*.jar"), Path("scala-library-2.13.0.jar")
    )
    version = library.stem.removeprefix("scala-library-").split(".")
    return {"SPARK_HOME": str(pyspark_home), "SPARK_SCALA_VERSION": ".".join(version[:2])}


def cassandra_command(java: Java, *, archive: bool = True) -> list[str]:
    """Java with Cassandra's flags and class path; append options and CASSANDRA_MAIN.

    Does not check the jars: `jars("cassandra")` does.
    """
    class_path = cassandra_class_path()
    share = share_options(java, archive_path("cassandra", java, class_path)) if archive else []
    return [str(java.path), *CASSANDRA_FLAGS, *share, "-cp", class_path_text(class_path)]


def cassandra_class_path() -> list[Path]:
    """Cassandra's jars, sorted."""
    return sorted(jar.path for jar in locked_jars_of("cassandra"))


def kafka_class_path() -> list[Path]:
    """Kafka's jars, sorted."""
    return sorted(jar.path for jar in locked_jars_of("kafka"))


def kafka_class_path_text() -> str:
    """Kafka's jars as an argument of Java."""
    return ":".join(map(str, kafka_class_path()))


def spark_class_path(pyspark_home: Path) -> list[Path]:
    """The jars inside pyspark, sorted, then the connectors, sorted."""
    return [
        *map(unsigned_copy, sorted((pyspark_home / "jars").glob("*.jar"))),
        *sorted(jar.path for jar in locked_jars_of("spark_job")),
    ]


def find_pyspark() -> Path:
    """The folder of this Python's pyspark, without importing it."""
    spec = importlib.util.find_spec("pyspark")
    if not spec or not spec.origin:
        raise MissingError("pyspark is not installed beside streambed. Run scripts/setup.")
    # Resolve links: an archive depends on the paths of its jars.
    return Path(spec.origin).resolve().parent


def kafka_checkpoint() -> Path:
    """The bootstrap.checkpoint of a new node, copied into each node's data directory."""
    path = checkpoint_path()
    if not path.exists():
        raise MissingError(f"{path} is missing", command="streambed fetch kafka")
    return path


def checkpoint_path() -> Path:
    """Where `fetch` keeps the checkpoint of this Kafka."""
    jars = digest(jar.sha256 for jar in locked_jars_of("kafka"))
    return archive_folder() / f"kafka-{jars}.checkpoint"


def archive_folder() -> Path:
    """Where `fetch` keeps class archives and formatted folders."""
    return cache() / "archives"


def archive_path(name: str, java: Java, class_path: Sequence[Path], *more: str) -> Path:
    """Where the archive for this Java and these jars is, if it has been made.

    The JVM compares times and sizes of jars, so the name depends on them too.
    """
    version = digest([str(java.path), java.build, *map(_stamp, class_path), *more])
    return archive_folder() / f"{name}-{version}.jsa"


def spark_archive(java: Java, pyspark_home: Path) -> Path:
    """Where Spark's archive is. A change of the job that makes it calls for a new archive."""
    return archive_path("spark", java, spark_class_path(pyspark_home), SPARK_TRAINING.read_text())


def base_archive(java: Java) -> Path | None:
    """The archive of Java's own classes, the base of all others; None if this Java includes one."""
    own = java.path.parent.parent / "lib" / "server" / "classes.jsa"
    return None if own.exists() else archive_path("java", java, [])


def share_options(java: Java, archive: Path) -> list[str]:
    """The option that makes a JVM use an archive and its base; empty if neither exists."""
    existing = [str(path) for path in (base_archive(java), archive) if path and path.exists()]
    return [f"-XX:SharedArchiveFile={':'.join(existing)}"] if existing else []


def class_path_text(class_path: Sequence[Path]) -> str:
    """A class path as the value of Java's option -cp."""
    return ":".join(map(str, class_path))


def _stamp(path: Path) -> str:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return f"{path} missing"
    return f"{path} {stat.st_size} {int(stat.st_mtime)}"


def digest(lines: Iterable[str]) -> str:
    """A short hash of these lines."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
