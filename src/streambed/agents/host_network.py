"""Networks of other hosts that an agent may use: the conductor hands over a descriptor for each."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def enter(host: str) -> None:
    """Move the calling thread into the network of a host. Threads that it starts, and their
    sockets, are there too.
    """
    descriptors = dict(pair.split("=") for pair in os.environ["STREAMBED_NETWORKS"].split())
    if not descriptors:
        return  # Outside any box all hosts share one network.
    if _libc.setns(int(descriptors[host]), CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"the network of {host} may not be entered")
