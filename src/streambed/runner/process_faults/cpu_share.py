"""Less CPU time for a process: by its control group, or else by stopping it again and again."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from streambed.runner.cgroups.caps import PERIOD_US, quota
from streambed.world import Heal

PERIOD_S = 0.01
"""One cycle of running and being stopped."""
ROUNDS_PER_LOOK = 100
"""How often the children are looked up."""
BY_GROUP, BY_SIGNALS = "by its control group", "by stopping it for a part of every 10 ms"


def cap_group(groups: Sequence[str], share: float, cores: int) -> Heal | None:
    """Cap the control group of a process; None if it has none that we may write."""
    quota_us, period_us = quota(share, cores)
    for group in map(Path, groups):
        values = {
            group / "cpu.max": f"{quota_us} {period_us}",
            group / "cpu.cfs_quota_us": str(round(quota_us * PERIOD_US / period_us)),
        }
        for file, value in values.items():
            if heal := _write(file, value):
                return heal
    return None


def _write(file: Path, value: str) -> Heal | None:
    try:
        before = file.read_text()
        file.write_text(value)
    except OSError:
        return None
    return lambda: _restore(file, before)


def _restore(file: Path, before: str) -> None:
    file.write_text(before)


class DutyCycle:
    """Lets a process and its children run for a share of the time."""

    def __init__(
        self, share: float, pids: Callable[[], list[int]], paused: Callable[[], bool]
    ) -> None:
        """`pids` are asked for again every second; what is `paused` by others is not continued."""
        self._run_s = share * PERIOD_S
        self._stop_s = PERIOD_S - self._run_s
        self._pids = pids
        self._paused = paused
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_round, name="duty cycle", daemon=True)
        self._thread.start()

    def _go_round(self) -> None:
        pids: list[int] = []
        for round_number in itertools.count():
            if round_number % ROUNDS_PER_LOOK == 0:
                pids = self._pids()
            _signal_all(pids, signal.SIGSTOP)
            self._over.wait(self._stop_s)
            if not self._paused():
                _signal_all(pids, signal.SIGCONT)
            if self._over.wait(self._run_s):
                return

    def end(self) -> None:
        """Let it run freely again."""
        self._over.set()
        self._thread.join()


def _signal_all(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
