"""Manifests: the checksums of files that were made once, so that a later change is noticed.

The manifest of `archives/kafka-1.jsa` is `manifests/archives+kafka-1.jsa.json` in the cache; that
of a folder lists all its files. A file whose stamp is as recorded is not read again: nobody can
write to a file and leave the time of its last change as it was.
"""

from __future__ import annotations

import hashlib
import json
from concurrent import futures
from contextlib import suppress
from pathlib import Path
from typing import Any

from streambed.artifacts.locked_jars import cache, make_cache
from streambed.record import write_whole

THREADS = 2
FOLDER = "manifests"

Line = dict[str, Any]
"""The sha256 of a file, and its stamp when that was computed."""


def record(path: Path) -> None:
    """Write the manifest of a file or folder that has just been made."""
    files = _files(path)
    with futures.ThreadPoolExecutor(THREADS) as pool:
        lines = list(pool.map(_line, files.values()))
    _write(path, dict(zip(files, lines, strict=True)))


def is_whole(path: Path) -> bool:
    """Whether a file or folder is there and as it was made."""
    return path.exists() and not changed_files(path)


def changed_files(path: Path) -> list[str]:
    """The files that are not as they were made; new files in a folder do not count.

    What was made before there were manifests gets one now.
    """
    manifest = _manifest(path)
    if not manifest.exists():
        with suppress(OSError):  # Another user's cache.
            record(path)
        return []
    try:
        lines: dict[str, Line] = json.loads(manifest.read_bytes())
    except ValueError:
        return [manifest.name]
    touched = [name for name, line in lines.items() if _stamp(path / name) != line["stamp"]]
    with futures.ThreadPoolExecutor(THREADS) as pool:
        lines_now = pool.map(_line, [path / name for name in touched])
        current = dict(zip(touched, lines_now, strict=True))
    wrong = [name for name in touched if current[name]["sha256"] != lines[name]["sha256"]]
    if current and not wrong:
        with suppress(OSError):  # A copy of a cache that this user may not change.
            _write(path, {**lines, **current})
    return [name or path.name for name in wrong]


def remove(path: Path) -> None:
    """Remove a file and its manifest."""
    path.unlink(missing_ok=True)
    _manifest(path).unlink(missing_ok=True)


def _manifest(path: Path) -> Path:
    inside = path.is_relative_to(cache())
    words = path.relative_to(cache()).parts if inside else path.parts[1:]
    return cache() / FOLDER / f"{'+'.join(words)}.json"


def _files(path: Path) -> dict[str, Path]:
    """The files of a folder by relative name; of a single file itself, without a name."""
    if not path.is_dir():
        return {"": path}
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    return {str(file.relative_to(path)): file for file in files}


def _stamp(path: Path) -> list[int]:
    try:
        stat = path.stat()
    except OSError:
        return []
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]


def _line(path: Path) -> Line:
    stamp = _stamp(path)
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        sha256 = ""
    return {"sha256": sha256, "stamp": stamp}


def _write(path: Path, lines: dict[str, Line]) -> None:
    manifest = _manifest(path)
    make_cache(FOLDER)
    write_whole(manifest, json.dumps(lines, indent=0))
