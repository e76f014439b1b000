from __future__ import annotations

from pathlib import Path

import pytest

from streambed.artifacts import java
from streambed.errors import MissingError, UsageError


def install(home: Path, version: str) -> Path:
    """A Java that is only what can be seen of it: a program and a release file."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="Nobody"\nJAVA_VERSION="{version}"\n')
    return program


def test_java_home_comes_before_path(tmp_path):
    at_home, on_path = install(tmp_path / "home", "21.0.2"), install(tmp_path / "path", "17.0.1")

    chosen = java.find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)})

    assert (chosen.path, chosen.version, chosen.notes) == (at_home, 21, ())


def test_java_25_is_passed_over_for_the_wheel_with_a_note(tmp_path, monkeypatch):
    new, wheel = install(tmp_path / "new", "25.0.1"), install(tmp_path / "wheel", "21.0.8")
    monkeypatch.setattr(java, "wheel_java", lambda: wheel)

    chosen = java.find_java({"PATH": str(new.parent)})

    assert chosen.path == wheel
    assert chosen.notes == (
        f"java 25 at {new} passed over: Spark needs 17 or 21; the wheel's Java is used",
    )


def test_java_8_is_not_taken_for_java_1(tmp_path):
    assert java.version_of(install(tmp_path, "1.8.0_392")) == (8, "1.8.0_392")


def test_a_java_without_a_release_file_is_asked(tmp_path):
    program = install(tmp_path, "17")
    (tmp_path / "release").unlink()
    program.write_text("#!/bin/sh\necho 'openjdk version \"21.0.4\" 2024-07-16' >&2\n")

    assert java.version_of(program) == (21, "21.0.4")


def test_the_wheel_can_be_asked_for(tmp_path, monkeypatch):
    wheel, other = install(tmp_path / "wheel", "21.0.8"), install(tmp_path / "other", "17.0.1")
    monkeypatch.setattr(java, "wheel_java", lambda: wheel)

    assert java.find_java({"STREAMBED_JAVA": "wheel", "PATH": str(other.parent)}).path == wheel


def test_the_program_or_the_home_can_be_given(tmp_path):
    program = install(tmp_path, "17.0.1")

    assert java.find_java({"STREAMBED_JAVA": str(tmp_path)}).path == program
    assert java.find_java({"STREAMBED_JAVA": str(program)}).path == program


def test_a_given_java_that_spark_cannot_use_is_refused(tmp_path):
    install(tmp_path, "25.0.1")

    with pytest.raises(UsageError, match="this is Java 25, and Spark needs 17 or 21"):
        java.find_java({"STREAMBED_JAVA": str(tmp_path)})


def test_a_given_java_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError, match="there is no java program"):
        java.find_java({"STREAMBED_JAVA": str(tmp_path / "nowhere")})


def test_no_java_at_all_says_what_to_do(monkeypatch, tmp_path):
    old = install(tmp_path, "11.0.1")
    monkeypatch.setattr(java, "wheel_java", lambda: None)

    with pytest.raises(
        MissingError, match=r"no Java 17 or 21\. java 11 at .* passed over.*scripts/setup"
    ):
        java.find_java({"PATH": str(old.parent)})
