"""Jars: exact ones, named in a committed lock with their checksums, kept in a cache of the user's.
Nothing is fetched during a run.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from streambed.errors import MissingError
from streambed.record import wait_until

LOCKS = {
    **{kind: kind for kind in ("kafka", "postgresql", "mariadb", "cassandra", "hdfs")},
    "spark_job": "spark",
}
"""The artifacts that are jars, and the lock of each."""
THREADS = 8
TRIES = 4
FIRST_PAUSE_S = 1.0

Download = Callable[[str, Path], Path]
"""Gets a coordinate into a folder; returns the file."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What is being done while artifacts are fetched."""

    stage: Literal["check", "download", "unpack", "make"]
    what: str
    """For people: the coordinate of a jar, or a few words."""
    done_bytes: int = 0
    total_bytes: int = 0
    """0 where bytes are not counted."""


Progress = Callable[[Step], None]
"""Called at each step."""


@dataclass(frozen=True, kw_only=True)
class Jar:
    """One line of a lock."""

    coordinate: str
    size: int
    sha256: str

    @property
    def path(self) -> Path:
        """Where the cache keeps it; another checksum is another file."""
        _, artifact, version = self.coordinate.split(":")
        return cache() / "jars" / f"{artifact}-{version}-{self.sha256[:8]}.jar"

    def is_right(self) -> bool:
        """Whether the cache has it, unharmed."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return False
        return (
            found.st_size == self.size
            and _checksum(self.path, found.st_mtime_ns, found.st_size) == self.sha256
        )


def cache() -> Path:
    """The user's folder for what is fetched or made once."""
    if given := os.environ.get("STREAMBED_CACHE"):
        return Path(given).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "streambed"


@functools.cache
def lock(name: str) -> tuple[Jar, ...]:
    """The jars of one committed lock."""
    return jars_of(
        (importlib.resources.files("streambed.artifacts") / "locks" / f"{name}.json").read_text()
    )


def jars_of(text: str) -> tuple[Jar, ...]:
    """The jars that the text of a lock names."""
    return tuple(Jar(**line) for line in json.loads(text))


def locked(kind: str) -> tuple[Jar, ...]:
    """The jars that a kind of component needs, possibly none."""
    return lock(LOCKS[kind]) if kind in LOCKS else ()


def jars(kind: str) -> list[Path]:
    """The jars of a kind, every one of them checked; raises MissingError that names the command
    which gets them.
    """
    wrong = [jar.coordinate for jar in locked(kind) if not jar.is_right()]
    if wrong:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        what = f"{kind} needs {wrong[0]}{more}, missing or damaged in {cache() / 'jars'}"
        raise MissingError(what, command=f"streambed fetch {kind}")
    return [jar.path for jar in locked(kind)]


def fetch_jars(
    named: Iterable[Jar], on_progress: Progress, download: Download | None = None
) -> None:
    """Get what the cache lacks, eight at a time, and check every byte; what is there and right is
    left alone.
    """
    wanted = list(dict.fromkeys(named))
    total = sum(jar.size for jar in wanted)
    lacking = [jar for jar in wanted if not jar.is_right()]
    done = total - sum(jar.size for jar in lacking)
    on_progress(Step(stage="check", what="jars", done_bytes=done, total_bytes=total))
    if not lacking:
        return
    (cache() / "jars").mkdir(parents=True, exist_ok=True)
    with (
        ThreadPoolExecutor(THREADS) as pool,
        tempfile.TemporaryDirectory(prefix="fetch-", dir=cache()) as folder,
    ):
        getting = {
            pool.submit(_get, jar, download or from_maven, Path(folder)): jar for jar in lacking
        }
        try:
            for future in as_completed(getting):
                future.result()
                done += getting[future].size
                what = getting[future].coordinate
                on_progress(Step(stage="download", what=what, done_bytes=done, total_bytes=total))
        except BaseException:  # One failed, or Ctrl-C: those that have not begun need not begin.
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def from_maven(coordinate: str, folder: Path) -> Path:
    """Download one jar with jgo, which knows where jars are published."""
    from jgo.maven import MavenContext  # Takes a while to import, and a run does not need it.

    group, artifact, version = coordinate.split(":")
    component = (
        MavenContext(repo_cache=folder, timeout=60).project(group, artifact).at_version(version)
    )
    return Path(component.artifact().resolve())


def _get(jar: Jar, download: Download, folder: Path) -> None:
    """Download into a folder of its own, check, and only then let it be seen under its name."""
    got = _patiently(jar.coordinate, download, folder / jar.sha256)
    with got.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != jar.sha256:
        raise MissingError(
            f"{jar.coordinate} was refused: its sha256 should be {jar.sha256} and is {found}. Run "
            "streambed fetch again; "
            "if it stays so, what stands between you and the repository changes files, or the lock "
            "is wrong."
        )
    got.chmod(0o644)  # Other users, and the user that a namespace maps to, may read it too.
    os.replace(got, jar.path)


def _patiently(coordinate: str, download: Download, folder: Path) -> Path:
    """Try a few times, longer apart each time: repositories now and then answer that they are
    busy.
    """
    pause_s = FIRST_PAUSE_S
    for attempt in range(1, TRIES + 1):
        try:
            return download(coordinate, folder / str(attempt))
        except (
            OSError,
            RuntimeError,
        ) as error:  # jgo raises RuntimeError, requests raises OSError.
            last = error
        if attempt < TRIES:
            wait_until(lambda: False, limit_s=pause_s, step_s=pause_s)
            pause_s *= 3
    raise MissingError(
        f"{coordinate} could not be fetched in {TRIES} tries: {last}. Is there a network? Then run "
        "streambed fetch again."
    )


@functools.lru_cache(maxsize=1024)
def _checksum(path: Path, modified_ns: int, size: int) -> str:
    """The sha256 of a file; remembered until its time or size changes, since each of twenty brokers
    asks.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
