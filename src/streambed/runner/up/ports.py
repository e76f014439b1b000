"""Ports of the loopback interface: which are free, and who has the others."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from streambed.errors import UsageError
from streambed.kinds.components.plan_context import Loopback

LISTENS = "0A"
"""The state of a listening socket in /proc/net/tcp."""


def ports_for(
    name: str, usual: tuple[int, ...], *, asked: int | None, taken: set[int]
) -> tuple[int, ...]:
    """The ports of a server: `asked` or its usual ones, and free ones instead of those in use.

    They are added to `taken`. Raises UsageError if the port that was asked for is in use.
    """
    if asked is not None:
        refuse_used(name, asked, taken)
    ports = []
    for wanted in (usual[0] if asked is None else asked, *usual[1:]):
        port = wanted if wanted not in taken and why_not_free(wanted) == "" else _any_free()
        taken.add(port)
        ports.append(port)
    return tuple(ports)


def refuse_used(name: str, port: int, taken: set[int]) -> None:
    """Raise UsageError if a port that the user asked for is not free."""
    reason = "another of these servers has it" if port in taken else why_not_free(port)
    if reason:
        raise UsageError(
            f"--port {name}={port}: {reason}. Name another port, or leave --port out: then a free "
            "one is chosen"
        )


def why_not_free(port: int) -> str:
    """Why a server cannot listen on a port of the loopback; empty if it can."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((Loopback.address, port))
        except PermissionError:
            return f"port {port} is for root only"
        except OSError:
            return f"port {port} is in use by {listener(port) or 'a process of another user'}"
    return ""


def _any_free() -> int:
    with socket.create_server((Loopback.address, 0)) as server:
        return int(server.getsockname()[1])


def listener(port: int) -> str:
    """The program that listens on a port, with its pid; empty if this user may not know."""
    sockets = set(_listening_sockets(port))
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            for descriptor in os.listdir(f"/proc/{entry}/fd"):
                if os.readlink(f"/proc/{entry}/fd/{descriptor}") in sockets:
                    program = Path(f"/proc/{entry}/comm").read_text().strip()
                    return f"{program} (pid {entry})"
    return ""


def _listening_sockets(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        path = Path("/proc/net", table)
        lines = path.read_text().splitlines()[1:] if path.exists() else []
        for line in lines:
            fields = line.split()
            local, state, inode = fields[1], fields[3], fields[9]
            if state == LISTENS and int(local.rpartition(":")[2], 16) == port:
                yield f"socket:[{inode}]"
