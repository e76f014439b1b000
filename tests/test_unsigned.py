"""Signed jars of Spark's are copied without their signatures, and only these."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from streambed.artifacts.manifests import changed_files
from streambed.artifacts.unsigned_jars import (
    MANIFEST,
    make_unsigned,
    unsigned_copies,
    unsigned_copy,
)

ABOUT_ALL = b"Manifest-Version: 1.0\r\nBundle-Name: one\r\n\r\n"
ABOUT_ONE = b"Name: One.class\r\nSHA-512-Digest: abc\r\n\r\n"
SIGNED = {
    MANIFEST: ABOUT_ALL + ABOUT_ONE,
    "META-INF/A.SF": b"s",
    "META-INF/A.DSA": b"s",
    "META-INF/services/A": b"x",
    "One.class": b"one",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STREAMBED_CACHE", str(tmp_path / "cache"))
    home = tmp_path / "pyspark"
    (home / "jars").mkdir(parents=True)
    for name, content in {"signed": SIGNED, "plain": {"Two.class": b"two"}}.items():
        with zipfile.ZipFile(home / "jars" / f"{name}.jar", "w") as jar:
            for path, text in content.items():
                jar.writestr(path, text)
    return home


def test_before_a_copy_is_made_the_jar_itself_serves(home: Path) -> None:
    assert unsigned_copy(home / "jars" / "signed.jar") == home / "jars" / "signed.jar"


def test_a_copy_lacks_the_signature_and_nothing_else(home: Path) -> None:
    make_unsigned(home)

    copy = unsigned_copy(home / "jars" / "signed.jar")
    with zipfile.ZipFile(copy) as jar:
        content = {name: jar.read(name) for name in jar.namelist()}
    assert copy.parts[-3:] == ("pyspark", "jars", "signed.jar")
    assert content == {MANIFEST: ABOUT_ALL, "META-INF/services/A": b"x", "One.class": b"one"}
    assert [path.name for path in copy.parent.iterdir()] == ["signed.jar"]


def test_a_changed_copy_is_noticed_and_made_anew(home: Path) -> None:
    make_unsigned(home)
    (copy,) = unsigned_copies(home)
    content = copy.read_bytes()
    copy.write_bytes(content[:-1] + b"x")

    assert changed_files(copy) == ["signed.jar"]
    make_unsigned(home)
    assert changed_files(copy) == []
    assert copy.read_bytes() == content


def test_a_jar_without_a_signature_is_not_copied(home: Path) -> None:
    make_unsigned(home)

    assert unsigned_copy(home / "jars" / "plain.jar") == home / "jars" / "plain.jar"


def test_another_jar_of_that_name_gets_its_own_copy(home: Path) -> None:
    make_unsigned(home)
    before = unsigned_copy(home / "jars" / "signed.jar")
    with zipfile.ZipFile(home / "jars" / "signed.jar", "a") as jar:
        jar.writestr("Three.class", b"three")

    make_unsigned(home)

    assert unsigned_copy(home / "jars" / "signed.jar") != before
