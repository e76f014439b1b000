"""Real time: the right to run as soon as there is something to do, which only the delay line
needs.

    box ── claim() ── enters namespaces ── fork ──▶ process 1 ── fork ──▶ conductor
     └── give_up()                                   └── give_up()          │
                       delay line ◀── call() ── a thread ◀── keep() ────────┘

Inside a user namespace the kernel refuses it, even to root; but a process that has it before keeps
it, and so do its children. It belongs to a thread, not to a process, and once given up it cannot
be claimed again: so the conductor keeps it in one thread, which only starts processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")

PRIORITY = 10
ALLOW = (
    "run as root, or allow it for this user: "
    "`USER - rtprio 10` in /etc/security/limits.conf, then log in again"
)
_keepers: list[ThreadPoolExecutor] = []


def claim() -> bool:
    """Switch to real-time scheduling; False if this user may not."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except PermissionError:
        return False
    return True


def give_up() -> None:
    """Switch back to normal scheduling."""
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def is_allowed() -> bool:
    """Whether this user may run in real time; tries it and gives it up at once."""
    allowed = claim()
    give_up()
    return allowed


def keep() -> None:
    """Move real-time scheduling from this thread to a new one, used by `call`.

    Call it before any other thread is started.
    """
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        keeper = ThreadPoolExecutor(1, "real time")
        keeper.submit(os.getpid).result()  # The thread is made with the first call.
        _keepers.append(keeper)
        give_up()


def call(function: Callable[[], Result]) -> Result:
    """Call `function` in the thread that kept real time; processes that it starts have it too.
    If no thread kept it, call `function` in the calling thread.
    """
    return _keepers[0].submit(function).result() if _keepers else function()
