"""Whether this machine is held up: by a hypervisor that takes processors away, or by other programs
that want them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

NAP_S = 0.002
LATE_S = 0.02
"""So late is a thread woken on a machine that is held up."""
CALM_S = 1.0
PATIENCE_S = 20.0
ATTEMPTS = 3


class Pulse(threading.Thread):
    """Sleeps for moments during a block, and sees how late it is woken."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.latest_s = 0.0
        self._over = threading.Event()

    def run(self) -> None:
        before = time.monotonic()
        while not self._over.wait(NAP_S):
            now = time.monotonic()
            self.latest_s = max(self.latest_s, now - before - NAP_S)
            before = now

    @property
    def held_up(self) -> bool:
        return self.latest_s > LATE_S

    def __enter__(self) -> Pulse:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()


def again_if_held_up(test: Callable[[], object]) -> list[str]:
    """Run it; if it fails while the machine is held up, up to two times more. What fails in calm
    fails at once. Gives earlier failures.
    """
    failed: list[str] = []
    while True:
        with Pulse() as pulse:
            try:
                test()
                return failed
            except Exception as error:
                if len(failed) == ATTEMPTS - 1 or not pulse.held_up:
                    raise
                failed.append(
                    f"woken {pulse.latest_s * 1000:.0f} ms late: {str(error).partition(chr(10))[0]}"
                )
        wait_for_calm()


def wait_for_calm() -> None:
    """Until nothing was held up for a second, or patience ends."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with Pulse() as pulse:
            time.sleep(CALM_S)
        if not pulse.held_up:
            return
