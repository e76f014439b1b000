"""Real time: the right to run as soon as there is something to do, which only the delay line
needs.

    box ── claim() ── enters namespaces ── fork ──▶ process 1 ── fork ──▶ conductor
    conductor ── keep() ──▶ a thread ── call() ──▶ delay line
     └── give_up()                            └── give_up()            └── gives up

Inside a user namespace it is refused, even to root; but whoever has it before keeps it, and so do
its children. It belongs to a thread, not to a process, and cannot be had again once given up: so
the conductor keeps it in one thread, which does nothing but start things.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Answer = TypeVar("Answer")

PRIORITY = 10
ALLOW = (
    "run as root, or allow it for this user: "
    "`USER - rtprio 10` in /etc/security/limits.conf, then log in again"
)
_keepers: list[ThreadPoolExecutor] = []


def claim() -> bool:
    """Run in real time from now on, if this user may."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except PermissionError:
        return False
    return True


def give_up() -> None:
    """Run as any other process from now on."""
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def can_be_had() -> bool:
    """Whether this user may; tried and given up at once."""
    had = claim()
    give_up()
    return had


def keep() -> None:
    """Give it up, if this thread has it, but for one new thread. To be called before there is any
    other.
    """
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        keeper = ThreadPoolExecutor(1, "real time")
        keeper.submit(os.getpid).result()  # The thread is made with the first call.
        _keepers.append(keeper)
        give_up()


def call(function: Callable[[], Answer]) -> Answer:
    """Call `function` in the thread that kept real time; processes that it starts have it too.
    Here, if none kept it.
    """
    return _keepers[0].submit(function).result() if _keepers else function()
