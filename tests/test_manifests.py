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
