from __future__ import annotations

import hashlib
import importlib.metadata
import os
import stat
import sys
from pathlib import Path

import pytest

from streambed import artifacts
from streambed.artifacts import jvm_commands
from streambed.artifacts import locked_jars as jars
from streambed.artifacts.java import Java
from streambed.errors import MissingError, UsageError
from streambed.kinds.tables import COMPONENTS, needs_of

JAVA = Java(path=Path("/opt/java/bin/java"), version=21, build="21.0.8")


def jar_of(content: bytes, name: str = "one") -> jars.Jar:
    return jars.Jar(
        coordinate=f"org.example:{name}:1.0",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


class Repository:
    """Stands in for the real one: gives every coordinate the same content, after a number of
    failures.
    """

    def __init__(self, content: bytes = b"a jar", failures: int = 0) -> None:
        self.content, self.failures, self.asked = content, failures, []

    def __call__(self, coordinate: str, folder: Path) -> Path:
        self.asked.append(coordinate)
        if len(self.asked) <= self.failures:
            raise RuntimeError("429 Too Many Requests")
        folder.mkdir(parents=True)
        (folder / "got.jar").write_bytes(self.content)
        return folder / "got.jar"


@pytest.fixture(autouse=True)
def small_lock(tmp_path, monkeypatch):
    """A separate cache, and a lock of one jar for every kind."""
    monkeypatch.setenv("STREAMBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "lock", lambda name: (jar_of(b"a jar"),))
    monkeypatch.setattr(jars, "FIRST_PAUSE_S", 0.001)


def fetch(repository: Repository) -> list[jars.Step]:
    reported: list[jars.Step] = []
    jars.fetch_jars(jars.locked_jars_of("kafka"), reported.append, repository)
    return reported


def test_a_fetched_jar_is_there_for_everyone_to_read():
    fetch(Repository())

    (path,) = artifacts.jars("kafka")

    assert path.read_bytes() == b"a jar"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_progress_counts_bytes_up_to_all_of_them():
    assert fetch(Repository()) == [
        jars.Step(stage="check", what="jars", done_bytes=0, total_bytes=5),
        jars.Step(stage="download", what="org.example:one:1.0", done_bytes=5, total_bytes=5),
    ]


def test_a_jar_that_is_there_and_right_needs_no_network():
    fetch(Repository())
    repository = Repository()

    assert fetch(repository) == [jars.Step(stage="check", what="jars", done_bytes=5, total_bytes=5)]
    assert repository.asked == []


def test_a_wrong_checksum_is_refused_and_leaves_nothing():
    with pytest.raises(MissingError) as refusal:
        fetch(Repository(b"evil!"))

    wanted, actual = hashlib.sha256(b"a jar").hexdigest(), hashlib.sha256(b"evil!").hexdigest()
    assert all(
        word in str(refusal.value)
        for word in ("org.example:one:1.0", wanted, actual, "streambed fetch")
    )
    assert [path for path in jars.cache().rglob("*") if path.is_file()] == []


def test_a_busy_repository_is_asked_again():
    repository = Repository(failures=2)

    fetch(repository)

    assert len(repository.asked) == 3
    assert artifacts.jars("kafka")


def test_a_repository_that_stays_busy_is_given_up_with_its_last_words():
    with pytest.raises(
        MissingError, match=r"org.example:one:1.0 could not be fetched in 4 tries: 429"
    ):
        fetch(Repository(failures=99))


def test_a_missing_jar_names_the_command_that_gets_it():
    with pytest.raises(
        MissingError, match=r"kafka needs org.example:one:1.0, .* Run: streambed fetch kafka"
    ) as missing:
        artifacts.jars("kafka")

    assert (
        missing.value.what
        == f"kafka needs org.example:one:1.0, missing or damaged in {jars.cache()}/jars"
    )
    assert missing.value.command == "streambed fetch kafka"


def test_a_jar_damaged_without_a_change_of_size_is_noticed_and_fetched_anew():
    fetch(Repository())
    (path,) = artifacts.jars("kafka")
    path.write_bytes(b"A jar")
    os.utime(path, (1, 1))

    with pytest.raises(MissingError, match="missing or damaged"):
        artifacts.jars("kafka")
    fetch(Repository())
    assert artifacts.jars("kafka") == [path]


def test_who_needs_nothing_fetches_nothing():
    assert artifacts.fetch([], lambda step: pytest.fail("nothing to report")) == []


@pytest.mark.parametrize(
    "ask", [artifacts.demand, lambda name: artifacts.fetch([name], lambda step: None)]
)
def test_an_artifact_that_nobody_knows_is_not_taken_for_one_that_is_there(ask):
    with pytest.raises(
        UsageError, match=r"there is no artifact 'spark_jbo'. Did you mean 'spark_job'"
    ):
        ask("spark_jbo")


class OwnServer:
    """An artifact of a kind from outside the package."""

    name = "nats"

    def __init__(self) -> None:
        self.fetched = 0

    def fetch(self, on_progress: artifacts.Progress) -> list[str]:
        on_progress(artifacts.Step(stage="download", what="nats-server"))
        self.fetched += 1
        return ["a note"]

    def demand(self) -> None:
        if not self.fetched:
            raise MissingError("nats needs its server", command="streambed fetch nats")


def test_a_kind_may_bring_its_own_artifact_which_is_fetched_once():
    server, steps = OwnServer(), []
    with pytest.raises(MissingError, match=r"nats needs its server. Run: streambed fetch nats"):
        artifacts.demand(server)

    notes = artifacts.fetch([server, server], steps.append)

    artifacts.demand(server)
    assert (server.fetched, notes, [step.what for step in steps]) == (
        1,
        ["a note"],
        ["nats-server"],
    )


def test_every_need_of_every_kind_is_an_artifact_that_is_known():
    assert {
        kind: COMPONENTS[kind].needs
        for kind in COMPONENTS
        if not set(COMPONENTS[kind].needs) <= set(artifacts.NAMES)
    } == {}


def test_kinds_that_need_the_same_artifact_name_it_once():
    assert needs_of(["kafka", "spark_cluster", "spark_job", "consumer"]) == ["kafka", "spark_job"]


def test_the_cache_follows_the_environment(monkeypatch):
    monkeypatch.delenv("STREAMBED_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache")

    assert jars.cache() == Path("/var/cache/streambed")


def test_every_line_of_the_committed_locks_is_exact(monkeypatch):
    monkeypatch.undo()
    lines = [line for name in jars.LOCKS.values() for line in jars.lock(name)]

    assert len(lines) == 143
    assert all(
        line.coordinate.count(":") == 2 and line.size > 0 and len(line.sha256) == 64
        for line in lines
    )


def test_a_command_uses_an_archive_only_once_it_is_made(monkeypatch):
    monkeypatch.setattr(jvm_commands, "base_archive", lambda java: None)
    fetch(Repository())
    before = artifacts.kafka_command(JAVA)
    archive = jvm_commands.archive_path("kafka", JAVA, jvm_commands.kafka_class_path())
    archive.parent.mkdir()
    archive.touch()

    assert not [word for word in before if "SharedArchiveFile" in word]
    assert f"-XX:SharedArchiveFile={archive}" in artifacts.kafka_command(JAVA)
    assert artifacts.kafka_command(JAVA, archive=False) == before


def test_a_java_without_a_base_archive_gets_ours():
    base = jvm_commands.base_archive(JAVA)
    archive = jvm_commands.archive_path("kafka", JAVA, [])
    archive.parent.mkdir(parents=True)
    base.touch()
    archive.touch()

    assert jvm_commands.share_options(JAVA, archive) == [f"-XX:SharedArchiveFile={base}:{archive}"]


@pytest.mark.parametrize("change", ["java", "build", "jar"])
def test_another_java_or_another_jar_means_another_archive(change, tmp_path):
    jar = tmp_path / "one.jar"
    jar.write_bytes(b"1")
    before = jvm_commands.archive_path("kafka", JAVA, [jar])
    if change == "jar":
        jar.write_bytes(b"22")
    path, build = (
        ("/other/java" if change == "java" else "/opt/java/bin/java"),
        ("21.0.9" if change == "build" else "21.0.8"),
    )

    assert (
        jvm_commands.archive_path("kafka", Java(path=Path(path), version=21, build=build), [jar])
        != before
    )


def test_sparks_class_path_is_sorted_and_extra_jars_come_last(tmp_path):
    (tmp_path / "jars").mkdir()
    for name in ("b.jar", "a.jar"):
        (tmp_path / "jars" / name).touch()

    command = artifacts.spark_command(JAVA, pyspark_home=tmp_path, extra_jars=[Path("/mine.jar")])

    class_path = command[command.index("-cp") + 1].split(":")
    assert class_path[:2] == [f"{tmp_path}/jars/a.jar", f"{tmp_path}/jars/b.jar"]
    assert class_path[-1] == "/mine.jar"
    assert command[-1] == "org.apache.spark.deploy.SparkSubmit"


def test_an_archive_that_cannot_be_made_is_a_note(tmp_path):
    dead = tmp_path / "java"
    dead.write_text("#!/bin/sh\necho no luck\nexit 3\n")
    dead.chmod(0o755)
    fetch(Repository())

    notes = artifacts.make_archives(["kafka"], Java(path=dead, version=21), lambda step: None)

    assert notes == [
        "no class archive for kafka, which will start more slowly: java ended with status 3: no "
        "luck"
    ]
    assert [path.name for path in jars.cache().iterdir()] == ["archives", "jars"]


def test_a_kafka_that_cannot_be_formatted_names_the_command():
    with pytest.raises(MissingError, match="streambed fetch kafka"):
        artifacts.kafka_checkpoint()


def test_the_version_of_an_interpreters_pyspark_is_read(tmp_path: Path) -> None:
    assert artifacts.pyspark_version(sys.executable) == importlib.metadata.version("pyspark")
    assert artifacts.pyspark_version(str(tmp_path / "nothing")) == ""
