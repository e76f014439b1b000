"""Make clients in the networks of several hosts, by the descriptors that the conductor passes on.

Entering a network takes a capability that would also undo the box's read-only mounts. So one thread
for each host enters its network, all threads drop the capability, and only then is the agent
imported, with its client and the user's function:

    python -P -m streambed.agents.host_network streambed.agents.producer.main order.json

The thread of a host stays: the threads that a client starts there are in its network too.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Answer = TypeVar("Answer")

CLONE_NEWNET = 0x40000000
PR_CAPBSET_DROP = 24
CAP_SYS_ADMIN = 21
_CAPABILITY_VERSION_3 = 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)
_threads: dict[str, ThreadPoolExecutor] = {}


def enter_all() -> None:
    """Start a thread in the network of every host, and drop the capability to enter more.

    Call it before the process has other threads: each has its own capabilities.
    """
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("another thread runs already, which would keep its capabilities")
    for pair in os.environ["STREAMBED_NETWORKS"].split():
        host, _, descriptor = pair.partition("=")
        _threads[host] = ThreadPoolExecutor(1, thread_name_prefix=f"network of {host}")
        _threads[host].submit(_move_in, host, int(descriptor)).result()
    if _threads:  # Outside any box all hosts share one network.
        _drop_capability()


def call_in(host: str, make: Callable[[], Answer]) -> Answer:
    """Call `make` in the network of a host; "" is the network of this process."""
    if host in _threads:
        return _threads[host].submit(make).result()
    if host and os.environ.get("STREAMBED_NETWORKS"):
        raise RuntimeError(f"the network of {host} was not entered when this process began")
    return make()


def _move_in(host: str, descriptor: int) -> None:
    _demand(_libc.setns(descriptor, CLONE_NEWNET), f"the network of {host} may not be entered")
    _drop_capability()


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Capabilities(ctypes.Structure):
    """Bits 0 to 31 of each set, then 32 to 63."""

    _fields_ = [
        (f"{name}_{part}", ctypes.c_uint32)
        for part in ("low", "high")
        for name in ("effective", "permitted", "inheritable")
    ]


def _drop_capability() -> None:
    """Take CAP_SYS_ADMIN from the calling thread and from programs that it starts."""
    refused = "CAP_SYS_ADMIN cannot be dropped"
    _demand(_libc.prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0), refused)
    header, held = _Header(_CAPABILITY_VERSION_3, 0), _Capabilities()
    _demand(_libc.capget(ctypes.byref(header), ctypes.byref(held)), refused)
    for name in ("effective_low", "permitted_low", "inheritable_low"):
        setattr(held, name, getattr(held, name) & ~(1 << CAP_SYS_ADMIN))
    _demand(_libc.capset(ctypes.byref(header), ctypes.byref(held)), refused)


def _demand(result: int, otherwise: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{otherwise}: {os.strerror(number)}")
