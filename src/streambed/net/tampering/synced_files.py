"""What of the files in a folder would survive a power failure: their sizes when last synced."""

from __future__ import annotations

import array
import fcntl
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from streambed.world import Lost

_GET_GENERATION = 0x80087601
"""FS_IOC_GETVERSION. A file system gives the number of a removed file to a new one, but with
another generation.
"""
_BLOCK_BYTES = 512
_FILLER_BYTES = 64
_FILLERS = (b"\0" * _FILLER_BYTES, b"\xff" * _FILLER_BYTES)


class FileId(NamedTuple):
    """A file under any name."""

    device: int
    inode: int
    generation: int


class SyncedFiles:
    """The synced sizes of the files below `folder`, in all lives of the process that writes."""

    def __init__(self, folder: Path, names: Sequence[str] = ("*",)) -> None:
        self._folder = folder
        self._names = names
        self._sizes: dict[FileId, int] = {}
        self._in_place: set[FileId] = set()
        self._changing = threading.Lock()
        self._began = False

    def begin(self) -> None:
        """Count what is there before the process first starts as synced."""
        if self._began:
            return
        self._began = True
        for path in self._files():
            with path.open("rb") as file:
                self._sizes[_id_of(file.fileno())] = os.fstat(file.fileno()).st_size

    def note_sync(self, file: FileId, size: int) -> None:
        """Note that this much of a file has been synced."""
        with self._changing:
            self._sizes[file] = size

    def note_mapped(self, file: FileId) -> None:
        """A file was synced that is written through memory: its size tells nothing."""
        with self._changing:
            self._in_place.add(file)

    def lose_unsynced(self, kept_of: Callable[[int], int]) -> Lost:
        """Remove files that were never synced, and cut others to what was; `kept_of` says how many
        bytes of an unsynced tail stay. Call it when nobody writes them.
        """
        removed, cut, lost_bytes = 0, 0, 0
        with self._changing:
            for path in list(self._files()):
                with path.open("rb+") as file:
                    identity = _id_of(file.fileno())
                    status = os.fstat(file.fileno())
                    if identity in self._in_place:
                        continue
                    if identity in self._sizes:
                        lost = self._truncate(identity, file.fileno(), status.st_size, kept_of)
                        cut += lost > 0
                        lost_bytes += lost
                        continue
                path.unlink()
                removed += 1
                # Space that was reserved ahead, and never written, is no loss.
                lost_bytes += min(status.st_size, status.st_blocks * _BLOCK_BYTES)
        return Lost(removed_files=removed, cut_files=cut, bytes=lost_bytes)

    def _truncate(
        self, file: FileId, descriptor: int, size: int, kept_of: Callable[[int], int]
    ) -> int:
        """Cut a file to what was synced of it, and perhaps a part of the rest; bytes lost."""
        tail = size - self._sizes[file]
        if tail <= 0:
            return 0
        self._sizes[file] += kept_of(tail)
        os.ftruncate(descriptor, self._sizes[file])
        return size - self._sizes[file]

    def _files(self) -> Iterator[Path]:
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = Path(folder, name)
                matches = any(fnmatch(name, pattern) for pattern in self._names)
                if matches and path.is_file() and not path.is_symlink():
                    yield path


def file_of_descriptor(task: int, descriptor: int) -> tuple[FileId, int] | None:
    """The file that a thread has open, and how much of it a sync makes durable; None if it is none.

    A server may reserve space ahead and fill it later: what lies behind its position and holds
    nothing but filler does not count.
    """
    with suppress(OSError):
        own = os.open(f"/proc/{task}/fd/{descriptor}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(own)
            if not S_ISREG(status.st_mode):
                return None
            position = _position(task, descriptor)
            reserved = 0 < position < status.st_size and os.pread(
                own, _FILLER_BYTES, position
            ).startswith(_FILLERS)
            return _id_of(own), position if reserved else status.st_size
        finally:
            os.close(own)
    return None


def file_of_mapping(task: int, address: int) -> FileId | None:
    """The file that a process has mapped at an address; None if it is none."""
    with suppress(OSError):
        for line in Path(f"/proc/{task}/maps").read_text().splitlines():
            start, _, end = line.split(maxsplit=1)[0].partition("-")
            if int(start, 16) <= address < int(end, 16):
                own = os.open(f"/proc/{task}/map_files/{start}-{end}", os.O_RDONLY | os.O_CLOEXEC)
                try:
                    return _id_of(own)
                finally:
                    os.close(own)
    return None


def _position(task: int, descriptor: int) -> int:
    lines = Path(f"/proc/{task}/fdinfo/{descriptor}").read_text().splitlines()
    return int(lines[0].split()[1])


def _id_of(descriptor: int) -> FileId:
    status = os.fstat(descriptor)
    generation = array.array("i", [0])
    with suppress(OSError):  # tmpfs has none, but does not give numbers again either.
        fcntl.ioctl(descriptor, _GET_GENERATION, generation)
    return FileId(status.st_dev, status.st_ino, generation[0])
