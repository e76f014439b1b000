"""Find the network namespaces of a run from outside, and run commands in them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from streambed import plan
from streambed.errors import WorldError
from streambed.net import entering
from streambed.net.hosts import Host
from streambed.net.network import host_files
from streambed.record import read_json, write_whole

NAMESPACES = "namespaces.json"
"""For each node the inode of its network namespace and the conductor's descriptor of it.

The inode identifies the node's threads and processes. A node in which nothing has run yet has
none: there the descriptor is used.
"""


def note_namespaces(directory: Path, hosts: Mapping[str, Host]) -> None:
    """Write the file by which `command_on` finds the nodes of a run."""
    places = {
        name: (os.fstat(host.namespace).st_ino, host.namespace) for name, host in hosts.items()
    }
    write_whole(directory / NAMESPACES, json.dumps(places))


def command_on(directory: Path, node: str, argv: Sequence[str]) -> list[str]:
    """The command that runs `argv` on a node of a running experiment."""
    name = f"{directory.parent.name}/{directory.name}"
    places = read_json(directory / NAMESPACES)
    if node not in places:
        raise WorldError(f"the network of {name} is still being built: try again in a moment")
    inode, descriptor = places[node]
    try:
        pids = entering.family(read_json(directory / "status.json")["pid"])
        if task := entering.task_in(pids, inode):
            return entering.command(task, argv)
        if holder := entering.holder(pids, inode, descriptor):
            return entering.command(holder, argv, _vacant(directory, node, descriptor))
    except PermissionError:
        raise WorldError(
            f"{name} is run by another user: only that one, or root, may enter its hosts"
        ) from None
    except (FileNotFoundError, ProcessLookupError):
        pass
    raise WorldError(f"{name} has just ended")


def _vacant(directory: Path, node: str, descriptor: int) -> entering.Vacant:
    """For a node on which nothing has run yet: the command sets up its file system."""
    decided = plan.read(directory / "plan.json")
    switch = decided.node(node).switch
    return entering.Vacant(
        name=node,
        descriptor=descriptor,
        host_files=None if switch else host_files(decided, directory.absolute()),
    )
