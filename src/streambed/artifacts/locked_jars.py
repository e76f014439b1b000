"""Jars pinned by committed lock files with checksums, kept in the user's cache.

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
from concurrent import futures
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
"""Downloads a Maven coordinate into a folder; returns the file."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """Progress of a fetch: what is being done."""

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
        """Where the cache keeps it; the name contains the checksum."""
        _, artifact, version = self.coordinate.split(":")
        return cache() / "jars" / f"{artifact}-{version}-{self.sha256[:8]}.jar"

    def is_right(self) -> bool:
        """Whether the cache has it with the right checksum."""
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return False
        if stat.st_size != self.size:
            return False
        return _checksum(self.path, stat.st_mtime_ns, stat.st_size) == self.sha256


def cache() -> Path:
    """The user's folder for what is fetched or made once."""
    if folder := os.environ.get("STREAMBED_CACHE"):
        return Path(folder).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "streambed"


def make_cache(*below: str) -> Path:
    """The same folder, made if it is not there, or a folder below it: for this user alone.

    A folder that STREAMBED_CACHE names may be shared, but not written to by others.
    """
    folder = cache()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(0o700, exist_ok=True)
    forbidden = 0o022 if os.environ.get("STREAMBED_CACHE") else 0o077
    stat = folder.stat()
    if stat.st_uid == os.geteuid() and stat.st_mode & forbidden:
        folder.chmod(stat.st_mode & 0o777 & ~forbidden)
    path = folder.joinpath(*below)
    path.mkdir(parents=True, exist_ok=True)
    return path


@functools.cache
def lock(name: str) -> tuple[Jar, ...]:
    """The jars of one committed lock."""
    return jars_of(
        (importlib.resources.files("streambed.artifacts") / "locks" / f"{name}.json").read_text()
    )


def jars_of(text: str) -> tuple[Jar, ...]:
    """The jars that the text of a lock names."""
    return tuple(Jar(**line) for line in json.loads(text))


def locked_jars_of(kind: str) -> tuple[Jar, ...]:
    """The jars that a kind of component needs, possibly none."""
    return lock(LOCKS[kind]) if kind in LOCKS else ()


def jars(kind: str) -> list[Path]:
    """The jars of a kind, all checked. Raises MissingError with the command that fetches them."""
    wrong = [jar.coordinate for jar in locked_jars_of(kind) if not jar.is_right()]
    if wrong:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        what = f"{kind} needs {wrong[0]}{more}, missing or damaged in {cache() / 'jars'}"
        raise MissingError(what, command=f"streambed fetch {kind}")
    return [jar.path for jar in locked_jars_of(kind)]


def fetch_jars(
    named: Iterable[Jar], on_progress: Progress, download: Download | None = None
) -> None:
    """Download the jars that the cache lacks, a few at a time, and check their checksums."""
    wanted = list(dict.fromkeys(named))
    total = sum(jar.size for jar in wanted)
    lacking = [jar for jar in wanted if not jar.is_right()]
    done = total - sum(jar.size for jar in lacking)
    on_progress(Step(stage="check", what="jars", done_bytes=done, total_bytes=total))
    if not lacking:
        return
    make_cache("jars")
    with (
        futures.ThreadPoolExecutor(THREADS) as pool,
        tempfile.TemporaryDirectory(prefix="fetch-", dir=cache()) as folder,
    ):
        getting = {
            pool.submit(_get, jar, download or from_maven, Path(folder)): jar for jar in lacking
        }
        try:
            for future in futures.as_completed(getting):
                future.result()
                done += getting[future].size
                what = getting[future].coordinate
                on_progress(Step(stage="download", what=what, done_bytes=done, total_bytes=total))
        except BaseException:  # One failed, or Ctrl-C: do not start the others.
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def from_maven(coordinate: str, folder: Path) -> Path:
    """Download one jar with jgo, which knows Maven's repositories."""
    from jgo.maven import MavenContext  # Slow to import, and a run does not need it.

    group, artifact, version = coordinate.split(":")
    component = (
        MavenContext(repo_cache=folder, timeout=60).project(group, artifact).at_version(version)
    )
    return Path(component.artifact().resolve())


def _get(jar: Jar, download: Download, folder: Path) -> None:
    """Download, check, and only then rename to its name in the cache."""
    downloaded = _download_with_retries(jar.coordinate, download, folder / jar.sha256)
    with downloaded.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != jar.sha256:
        raise MissingError(
            f"{jar.coordinate} was refused: its sha256 should be {jar.sha256} and is {sha256}. "
            "Run streambed fetch again; if that does not help, something between you and the "
            "repository changes files, or the lock is wrong."
        )
    # Other users, and the user that a namespace maps to, may read it too.
    downloaded.chmod(0o644)
    os.replace(downloaded, jar.path)


def _download_with_retries(coordinate: str, download: Download, folder: Path) -> Path:
    """Try a few times with growing pauses: repositories are sometimes busy."""
    pause_s = FIRST_PAUSE_S
    for attempt in range(1, TRIES + 1):
        try:
            return download(coordinate, folder / str(attempt))
        # jgo raises RuntimeError, requests raises OSError.
        except (OSError, RuntimeError) as error:
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
    """The sha256 of a file, cached until its time or size changes: each broker asks for it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
