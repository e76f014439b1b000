"""A child of a process of the plan: a program that this one started, such as a Spark executor."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from streambed.errors import WorldError
from streambed.world import Clock, Heal, Syncs


class ChildProcess:
    """Implements world.Process for a pid that its parent looks after."""

    def __init__(self, pid: int, *, name: str, node: str, log: Path) -> None:
        self._pid = pid
        self.name = name
        self.node = node
        self.log = log
        self.paused = False

    @property
    def alive(self) -> bool:
        """Whether it runs now."""
        try:
            state = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        return state != "Z"

    def last_lines(self) -> list[str]:
        """Empty: its output is in the log of its parent."""
        return []

    def children(self, words: Sequence[str]) -> Sequence[ChildProcess]:
        """Empty: children of a child process are not looked up."""
        return ()

    def kill(self) -> Heal:
        """Kill it; its parent starts another."""
        self._signal(signal.SIGKILL)
        return lambda: None

    def stop(self) -> Heal:
        """Ask it to end; its parent starts another."""
        self._signal(signal.SIGTERM)
        return lambda: None

    def pause(self) -> Heal:
        """Stop it until healed."""
        self._signal(signal.SIGSTOP)
        self.paused = True

        def heal() -> None:
            self.paused = False
            with contextlib.suppress(WorldError):  # It may have been killed in between.
                self._signal(signal.SIGCONT)

        return heal

    def slow(self, share: float) -> tuple[Heal, str]:
        """Only whole processes of the plan can be slowed down."""
        raise WorldError(f"{self.name} is a child process: slow down its parent")

    @property
    def clock(self) -> Clock:
        """A clock is skewed for a process of the plan and all of its children."""
        raise WorldError(f"{self.name} is a child process: skew the clock of its parent")

    @property
    def syncs(self) -> Syncs:
        """Syncs are watched for a process of the plan and all of its children."""
        raise WorldError(f"{self.name} is a child process: slow or fail the syncs of its parent")

    def kill_at_once(self) -> None:
        """Kill it."""
        self._signal(signal.SIGKILL)

    def tolerate_end(self) -> Heal:
        """Does nothing: the end of a child process never fails the run."""
        return lambda: None

    def _signal(self, number: int) -> None:
        try:
            os.kill(self._pid, number)
        except ProcessLookupError:
            raise WorldError(f"{self.name} has just ended") from None


def matches(pid: int, words: Sequence[str]) -> bool:
    """Whether the command line of a process holds all of these words."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return all(word.encode() in command for word in words)
