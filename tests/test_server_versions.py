"""Versions of servers, from the committed locks or from the program."""

from pathlib import Path

import pytest

from streambed.artifacts.servers import server_version


@pytest.mark.parametrize("kind", ["kafka", "cassandra", "postgresql", "mariadb", "hdfs", "redis"])
def test_every_server_has_a_version(kind):
    version = server_version(kind)

    assert version and version[0].isdigit()


def test_what_is_no_server_has_no_version():
    assert server_version("producer") == ""


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo 'db version v7.0.5'; echo 'Build Info: {'", "7.0.5"),
        ("echo 'mongod: no such option' >&2; exit 2", ""),
        ("echo 'no number here'", ""),
    ],
)
def test_the_version_of_mongodb_is_what_its_program_prints(
    monkeypatch, tmp_path: Path, script: str, version: str
):
    program = tmp_path / "mongod"
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] || exit 3\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    assert server_version("mongodb") == version
