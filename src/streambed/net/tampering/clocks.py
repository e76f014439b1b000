"""The clock of a process of a run and of its children, as skewed as active faults ask for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from streambed.errors import WorldError
from streambed.net.tampering import clock_code
from streambed.net.tampering.vdso import vdso_of
from streambed.world import Heal

LOOK_S = 0.01
"""How often new processes of the session are looked for while its clock is skewed."""
SLACK_NS = 20_000_000
"""Times are exact to a millisecond; a process sees a change a little later."""
_GONE = (ProcessLookupError, FileNotFoundError)


@dataclass(eq=False)
class Skew:
    """One fault: how far the wall clock is off when it begins, and what it gains per second."""

    ahead_ns: int
    rate: float
    since_ns: int = field(default_factory=time.time_ns)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the process saw of the wall clock from `begin_ns` on."""

    begin_ns: int
    since_ns: int
    ahead_ns: int
    rate: float

    def true_ns(self, shown_ns: int) -> int:
        """The true time when it saw this one."""
        elapsed_ns = (shown_ns - self.ahead_ns - self.since_ns) / (1 + self.rate)
        return self.since_ns + round(elapsed_ns) if self.rate else shown_ns - self.ahead_ns


class SessionClock:
    """The wall clock that the processes of one session see. Skews that overlap add up."""

    def __init__(
        self,
        members: Callable[[], Iterable[int]],
        is_paused: Callable[[], bool] = lambda: False,
    ) -> None:
        """`members` gives the processes of the session, also after it was started again."""
        self._members = members
        self._is_paused = is_paused
        self._skews: list[Skew] = []
        self._shown = [Shown(begin_ns=0, since_ns=0, ahead_ns=0, rate=0.0)]
        self._changing = threading.Lock()
        self._watched = False
        self._pause = threading.Event()

    def skew(self, *, ahead_ns: int, rate: float) -> Heal:
        """Skew it until healed. WorldError if the process does not run."""
        skew = Skew(ahead_ns, rate)
        with self._changing:
            if not self._apply_skews(self._members(), [*self._skews, skew]):
                raise WorldError("the process is not running, so it has no clock to skew")
            self._skews.append(skew)
            self._note()
            if not self._watched:
                self._watched = True
                threading.Thread(target=self._watch, name="clock", daemon=True).start()

        def heal() -> None:
            with self._changing:
                self._skews.remove(skew)
                self._apply_skews(self._members(), self._skews)
                self._note()

        return heal

    def skew_newcomers(self) -> None:
        """Skew the clock of a process that has just been started, if a fault is active."""
        with self._changing:
            self._set_newcomers(self._members())

    def true_ns(self, shown_ns: int) -> int:
        """The true wall clock when the process saw this one; the latest if it saw it twice."""
        with self._changing:
            shown = list(self._shown)
        end_ns = time.time_ns() + SLACK_NS
        for one in reversed(shown):
            true_ns = one.true_ns(shown_ns)
            if one.begin_ns - SLACK_NS <= true_ns <= end_ns:
                return true_ns
            end_ns = one.begin_ns + SLACK_NS
        return shown_ns

    def _note(self) -> None:
        now_ns = time.time_ns()
        ahead_ns, rate = total(self._skews, now_ns)
        self._shown.append(Shown(begin_ns=now_ns, since_ns=now_ns, ahead_ns=ahead_ns, rate=rate))

    def _apply_skews(self, members: Iterable[int], skews: list[Skew]) -> int:
        """Let processes see the sum of these skews; returns how many there are."""
        count = 0
        for pid in members:
            with suppress(*_GONE), vdso_of(pid, paused=self._is_paused()) as copy:
                if skews:
                    copy.skew(_numbers(skews))
                else:
                    copy.restore()
                count += 1
        return count

    def _set_newcomers(self, members: Iterable[int]) -> None:
        """A program that a process starts has a new vDSO, which tells the true time."""
        for pid in members if self._skews else ():
            # A program that the kernel protects, such as a setuid one, keeps the true time.
            with suppress(*_GONE, PermissionError), vdso_of(pid, paused=self._is_paused()) as copy:
                if not copy.is_skewed:
                    copy.skew(_numbers(self._skews))

    def _watch(self) -> None:
        """Look for newcomers until no skew is active."""
        seen, members = 0, list[int]()
        while True:
            self._pause.wait(LOOK_S)
            newest = last_pid()
            if newest != seen:
                seen, members = newest, list(self._members())
            with self._changing:
                if not self._skews:
                    self._watched = False
                    return
                self._set_newcomers(members)


def total(skews: Iterable[Skew], now_ns: int) -> tuple[int, float]:
    """How far all skews together are ahead now, and what they gain per second."""
    ahead_ns, rate = 0, 0.0
    for skew in skews:
        ahead_ns += skew.ahead_ns + round((now_ns - skew.since_ns) * skew.rate)
        rate += skew.rate
    return ahead_ns, rate


def _numbers(skews: Iterable[Skew]) -> bytes:
    now_ns = time.time_ns()
    ahead_ns, rate = total(skews, now_ns)
    return clock_code.numbers(since_ns=now_ns, ahead_ns=ahead_ns, rate=rate)


def last_pid() -> int:
    """The id that the kernel gave out last in this PID namespace."""
    return int(Path("/proc/loadavg").read_text().split()[-1])
