"""Where the nodes of a run are to be found from outside, and how to enter them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from streambed.errors import WorldError
from streambed.net import entering
from streambed.net.hosts import Host
from streambed.record import read_json, write_whole

NAMESPACES = "namespaces.json"
"""The inode of each node's network namespace: by it the threads and processes of a node are found from outside."""


def note_namespaces(directory: Path, hosts: Mapping[str, Host]) -> None:
    """Let visitors find the nodes of a run."""
    write_whole(directory / NAMESPACES, json.dumps({name: os.fstat(host.namespace).st_ino for name, host in hosts.items()}))


def command_on(directory: Path, node: str, argv: Sequence[str]) -> list[str]:
    """What to run outside to run `argv` on a node of a run that goes on."""
    name = f"{directory.parent.name}/{directory.name}"
    inodes = read_json(directory / NAMESPACES)
    if node not in inodes:
        raise WorldError(f"the network of {name} is still being built: try again in a moment")
    try:
        task = entering.task_in(entering.family(read_json(directory / "status.json")["pid"]), inodes[node])
    except PermissionError:
        raise WorldError(f"{name} is run by another user: only that one, or root, may enter its hosts") from None
    except (FileNotFoundError, ProcessLookupError):
        task = None
    if task is None:
        raise WorldError(f"{name} has just ended")
    return entering.command(task, argv)
