"""What `fetch` made is as it was made, or the run says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streambed import artifacts
from streambed.artifacts import manifests
from streambed.artifacts.one_shot import publish
from streambed.errors import MissingError


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A class archive, just made."""
    monkeypatch.setenv("STREAMBED_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "cache" / "archives" / "kafka-1.jsa"
    path.parent.mkdir(parents=True)
    (tmp_path / "made.jsa").write_bytes(b"classes")
    publish(tmp_path / "made.jsa", path)
    monkeypatch.setattr(artifacts, "jars", lambda name: [])
    monkeypatch.setattr(artifacts, "made_files", lambda name: [path, path.with_name("none")])
    return path


def test_an_archive_is_whole_after_it_was_made(archive: Path) -> None:
    artifacts.demand("kafka")

    assert manifests.is_whole(archive)


def test_a_changed_archive_is_noticed_although_size_and_time_are_the_same(archive: Path) -> None:
    stat = archive.stat()
    archive.write_bytes(b"Classes")
    os.utime(archive, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    with pytest.raises(MissingError, match=r"kafka is damaged: kafka-1.jsa in .* Run: streambed"):
        artifacts.demand("kafka")
    assert not manifests.is_whole(archive)


def test_an_archive_that_was_only_touched_or_copied_is_whole(archive: Path) -> None:
    archive.with_name("copy").write_bytes(archive.read_bytes())
    os.replace(archive.with_name("copy"), archive)

    assert manifests.changed_files(archive) == []


def test_an_archive_made_before_there_were_manifests_gets_one(archive: Path) -> None:
    (manifest,) = (archive.parent.parent / "manifests").iterdir()
    manifest.unlink()

    assert manifests.changed_files(archive) == []
    archive.write_bytes(b"Classes")
    assert manifests.changed_files(archive) == ["kafka-1.jsa"]


def test_a_missing_file_of_a_folder_is_a_change_and_a_new_one_is_not(archive: Path) -> None:
    folder = archive.parent.parent / "servers" / "postgres"
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        (folder / name).write_text(name)
    manifests.record(folder)
    (folder / "three").touch()
    assert manifests.changed_files(folder) == []

    (folder / "two").unlink()
    assert manifests.changed_files(folder) == ["two"]


def mode_after_use(cache: Path, mode: int) -> int:
    cache.chmod(mode)
    artifacts.make_cache()
    return cache.stat().st_mode & 0o777


def test_a_cache_is_for_its_owner_alone_even_if_it_was_open_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STREAMBED_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = tmp_path / "streambed"

    assert artifacts.make_cache("up", "one") == cache / "up" / "one"
    assert cache.stat().st_mode & 0o777 == 0o700
    assert mode_after_use(cache, 0o755) == 0o700


def test_a_shared_cache_is_written_to_by_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMBED_CACHE", str(tmp_path))

    assert mode_after_use(tmp_path, 0o777) == 0o755


@pytest.mark.parametrize("name", ["kafka", "spark_job", "cassandra", "hdfs"])
def test_the_archive_that_all_others_are_based_on_is_verified(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "base_archive", lambda java: Path("base.jsa"))

    assert Path("base.jsa") in artifacts.made_files(name)
