"""Where the nodes of a run are to be found from outside."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from streambed.net.hosts import Host
from streambed.record import write_whole

NAMESPACES = "namespaces.json"
"""The inode of each node's network namespace, by which the threads and processes of a node are found from outside; and the descriptor
by which the conductor holds it, because a node in which nothing has run yet has none."""


def note_namespaces(directory: Path, hosts: Mapping[str, Host]) -> None:
    """Let visitors find the nodes of a run."""
    places = {name: (os.fstat(host.namespace).st_ino, host.namespace) for name, host in hosts.items()}
    write_whole(directory / NAMESPACES, json.dumps(places))
