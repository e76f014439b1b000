"""The syncs of a process and its children: how long they take, whether they fail, what they saved.

    process ── fsync ──▶ seccomp filter ──▶ supervisor, a thread ── answer ──▶ the process continues

The filter is installed only if a declared fault needs it (sync_starter.py). The thread lives as
long as a process with the filter.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import socket
import struct
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from streambed.net.tampering import sync_starter
from streambed.net.tampering.sync_starter import FDATASYNC, FSYNC, MSYNC
from streambed.net.tampering.synced_files import (
    FileId,
    SyncedFiles,
    file_of_descriptor,
    file_of_mapping,
)
from streambed.record import now_ns
from streambed.world import Heal

LOOK_MS = 5
"""How often calls that wait are looked at: a fault may have been healed."""
_RECEIVE, _ANSWER = 0xC0502100, 0xC0182101
_REPORT = struct.Struct("<QIIiIQ6Q")
_REPLY = struct.Struct("<QqiI")
_GO_ON = 1
"""SECCOMP_USER_NOTIF_FLAG_CONTINUE: the kernel makes the call."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A sync that waits for its answer."""

    number: int
    came_ns: int
    synced: tuple[FileId, int] | None = None
    mapped: FileId | None = None


class Syncs:
    """The syncs of one process of a run, in all its lives. Delays of faults that overlap add up."""

    def __init__(self, folder: Path, names: Sequence[str] = ("*",)) -> None:
        """`folder` holds the files whose synced sizes matter, by patterns of their `names`."""
        self.files = SyncedFiles(folder, names)
        self._delays_ns: list[int] = []
        self._failures = 0

    def slow(self, delay_ns: int) -> Heal:
        """Delay each sync until healed; then waiting calls continue at once."""
        self._delays_ns.append(delay_ns)
        return lambda: self._delays_ns.remove(delay_ns)

    def fail(self) -> Heal:
        """Let each sync fail with EIO until healed; nothing is synced."""
        self._failures += 1

        def heal() -> None:
            self._failures -= 1

        return heal

    def command(self, argv: Sequence[str], channel: int) -> tuple[str, ...]:
        """The command that starts `argv` with the filter; `channel` is its end of a socket pair."""
        return (sys.executable, "-I", "-S", sync_starter.__file__, str(channel), *argv)

    def supervise(self, channel: socket.socket) -> None:
        """Answer the syncs of the process at the other end of `channel`, until it has ended."""
        threading.Thread(target=self._supervise, args=(channel,), name="syncs", daemon=True).start()

    def _supervise(self, channel: socket.socket) -> None:
        with channel:
            _, listeners, _, _ = socket.recv_fds(channel, 1, 1)
        for listener in listeners:  # None if the process could not be started.
            try:
                self._answer_all(listener)
            finally:
                os.close(listener)

    def _answer_all(self, listener: int) -> None:
        poller = select.poll()
        poller.register(listener, select.POLLIN)
        waiting: list[Call] = []
        while True:
            ready = poller.poll(LOOK_MS if waiting else None)
            if ready and ready[0][1] & select.POLLHUP:
                return
            if ready:
                waiting += _receive(listener)
            due_ns = now_ns() - sum(self._delays_ns)
            for call in [call for call in waiting if call.came_ns <= due_ns]:
                waiting.remove(call)
                self._answer(listener, call)

    def _answer(self, listener: int, call: Call) -> None:
        if self._failures:
            reply = _REPLY.pack(call.number, 0, -errno.EIO, 0)
        else:
            reply = _REPLY.pack(call.number, 0, 0, _GO_ON)
            if call.synced:
                self.files.note_sync(*call.synced)
            if call.mapped:
                self.files.note_mapped(call.mapped)
        with suppress(FileNotFoundError):  # The caller was killed meanwhile.
            fcntl.ioctl(listener, _ANSWER, reply)


def _receive(listener: int) -> list[Call]:
    """The call that is reported; none if its caller was killed meanwhile."""
    buffer = bytearray(_REPORT.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, buffer)
    except FileNotFoundError:
        return []
    number, task, _, call, _, _, *arguments = _REPORT.unpack(buffer)
    came_ns = now_ns()
    synced = mapped = None
    if call in (FSYNC, FDATASYNC):
        synced = file_of_descriptor(task, arguments[0])
    if call == MSYNC:
        mapped = file_of_mapping(task, arguments[0])
    return [Call(number=number, came_ns=came_ns, synced=synced, mapped=mapped)]
