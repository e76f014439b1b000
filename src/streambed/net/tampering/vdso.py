"""The vDSO: code of the kernel, mapped into every process, that tells the time without a system
call. Each process has a private copy, and a write through /proc/PID/mem changes that copy alone.

    function of the vDSO: jmp ──▶ clock_code, in the unused end of the same mapping

Only the first bytes of a function change, so threads inside its old code continue unharmed.
"""

from __future__ import annotations

import os
import signal
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from streambed.errors import MachineError, WorldError
from streambed.net.tampering import clock_code
from streambed.record import wait_until

ENTRY_BYTES = 8
"""What is replaced of a function: a jump of five bytes, and three that stay."""
STOP_LIMIT_S = 2.0
_ADDRESS_OF_VDSO = 33
"""AT_SYSINFO_EHDR in a process's auxiliary vector."""
_LOAD, _DYNAMIC, _STRINGS, _SYMBOLS = 1, 2, 5, 6
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True, kw_only=True)
class Image:
    """The vDSO of this kernel."""

    content: bytes
    functions: dict[str, int]
    """Where each exported function begins."""
    room: int
    """Where the unused end begins."""

    def entry(self, function: str) -> bytes:
        """The first bytes of a function as the kernel made them."""
        start = self.functions[function]
        return self.content[start : start + ENTRY_BYTES]

    def hook(self, function: str) -> bytes:
        """The first bytes of a function that jumps to the skewed clock."""
        target = self.room + clock_code.FUNCTIONS[function]
        jump = b"\xe9" + struct.pack("<i", target - (self.functions[function] + 5))
        return jump + self.entry(function)[len(jump) :]


@cache
def image() -> Image:
    """The vDSO of this kernel; MachineError if no skewed clock fits in."""
    if os.uname().machine != "x86_64":
        raise MachineError(f"clocks are skewed on x86-64 only, and this is {os.uname().machine}")
    lines = Path("/proc/self/maps").read_text().splitlines()
    spans = [line.split()[0] for line in lines if line.endswith("[vdso]")]
    if not spans:
        raise MachineError("this kernel tells processes the time without a vDSO")
    start, end = (int(number, 16) for number in spans[0].split("-"))
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        content = os.pread(memory.fileno(), end - start, start)
    functions = exported_symbols(content)
    room = len(content.rstrip(b"\0")) + 63 & ~63
    fits = room + len(clock_code.CODE) <= len(content)
    if not fits or not clock_code.FUNCTIONS.keys() <= functions.keys():
        raise MachineError("this kernel's vDSO has no room for a skewed clock, or lacks functions")
    return Image(content=content, functions=functions, room=room)


def exported_symbols(content: bytes) -> dict[str, int]:
    """The dynamic symbols of a 64-bit ELF image, and where in the image they are."""
    (headers,) = struct.unpack_from("<Q", content, 32)
    (count,) = struct.unpack_from("<H", content, 56)
    base, dynamic = 0, (0, 0)
    for number in range(count):
        kind, _, offset, address, _, size = struct.unpack_from(
            "<IIQQQQ", content, headers + 56 * number
        )
        if kind == _LOAD and offset == 0:
            base = address
        if kind == _DYNAMIC:
            dynamic = (offset, size)
    tags = dict(struct.iter_unpack("<QQ", content[dynamic[0] : sum(dynamic)]))
    strings, symbols = tags[_STRINGS] - base, tags[_SYMBOLS] - base
    names = {}
    for name, _, _, _, value, _ in _SYMBOL.iter_unpack(
        content[symbols : symbols + (strings - symbols) // _SYMBOL.size * _SYMBOL.size]
    ):
        end = content.index(b"\0", strings + name)
        names[content[strings + name : end].decode(errors="replace")] = value - base
    return names


class ProcessVdso:
    """The copy of one process. ProcessLookupError if the process is gone."""

    def __init__(self, pid: int, *, paused: bool = False) -> None:
        """A process that is `paused`, or being paused, is not continued after a change."""
        self._pid = pid
        self._paused = paused
        self._image = image()
        self._base = _vdso_address(pid)
        self._memory = os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC)

    def close(self) -> None:
        """Let go of the process's memory."""
        os.close(self._memory)

    def content(self) -> bytes:
        """The current bytes of the whole mapping."""
        return self._read(0, len(self._image.content))

    @property
    def is_skewed(self) -> bool:
        """Whether the process jumps to a skewed clock."""
        name = "__vdso_clock_gettime"
        return self._read(self._image.functions[name], ENTRY_BYTES) == self._image.hook(name)

    def skew(self, numbers: bytes) -> None:
        """Let the process see the wall clock by these numbers of clock_code."""
        if self.is_skewed:
            with self._stop_threads():
                self._write(self._image.room, numbers)
            return
        name = "__vdso_clock_gettime"
        if self._read(self._image.functions[name], ENTRY_BYTES) != self._image.entry(name):
            raise WorldError(f"process {self._pid} has another vDSO than this kernel's")
        with self._stop_threads():
            self._write(self._image.room, numbers + clock_code.CODE[len(numbers) :])
            for function in clock_code.FUNCTIONS:
                self._write(self._image.functions[function], self._image.hook(function))

    def restore(self) -> None:
        """Let the process see the wall clock as it is. The code stays, unused."""
        if not self.is_skewed:
            return
        with self._stop_threads():
            for function in clock_code.FUNCTIONS:
                self._write(self._image.functions[function], self._image.entry(function))

    def _read(self, offset: int, count: int) -> bytes:
        content = os.pread(self._memory, count, self._base + offset)
        if not content:
            raise ProcessLookupError(f"process {self._pid} has ended")
        return content

    def _write(self, offset: int, content: bytes) -> None:
        if os.pwrite(self._memory, content, self._base + offset) != len(content):
            raise ProcessLookupError(f"process {self._pid} has ended")

    @contextmanager
    def _stop_threads(self) -> Iterator[None]:
        """Stop all threads, none of them within bytes that change. One that was stopped before
        stays so.
        """
        was_stopped = self._paused or _state(self._pid) == "T"
        try:
            if not wait_until(self._stop, limit_s=STOP_LIMIT_S, step_s=0.001):
                raise WorldError(f"process {self._pid} could not be stopped to change its clock")
            yield
        finally:
            if not was_stopped:
                os.kill(self._pid, signal.SIGCONT)

    def _stop(self) -> bool:
        """Whether all threads are stopped outside the first bytes; if not, let it continue."""
        os.kill(self._pid, signal.SIGSTOP)
        counters = [_program_counter(self._pid, task) for task in _tasks(self._pid)]
        if None in counters:
            return False  # It has not stopped yet.
        starts = [self._base + self._image.functions[name] for name in clock_code.FUNCTIONS]
        if any(
            start < counter < start + ENTRY_BYTES
            for start in starts
            for counter in counters
            if counter
        ):
            os.kill(self._pid, signal.SIGCONT)
            return False
        return True


@contextmanager
def vdso_of(pid: int, *, paused: bool = False) -> Iterator[ProcessVdso]:
    """The vDSO of a process, for as long as the block lasts."""
    with closing(ProcessVdso(pid, paused=paused)) as copy:
        yield copy


def _vdso_address(pid: int) -> int:
    try:
        vector = Path(f"/proc/{pid}/auxv").read_bytes()
    except FileNotFoundError:
        vector = b""
    entries = dict(struct.iter_unpack("<QQ", vector[: len(vector) // 16 * 16]))
    if not entries.get(_ADDRESS_OF_VDSO):
        raise ProcessLookupError(f"process {pid} has ended, or has no vDSO")
    return int(entries[_ADDRESS_OF_VDSO])


def _tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        raise ProcessLookupError(f"process {pid} has ended") from None


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        raise ProcessLookupError(f"process {pid} has ended") from None


def _program_counter(pid: int, task: str) -> int | None:
    """The instruction pointer of a thread; None while it runs, 0 for one that has ended."""
    try:
        words = Path(f"/proc/{pid}/task/{task}/syscall").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return None if words[0] == "running" else int(words[-1], 16)
