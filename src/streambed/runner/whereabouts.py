"""Where the nodes of a run are to be found from outside."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from streambed.net.hosts import Host
from streambed.record import write_whole

NAMESPACES = "namespaces.json"
"""The inode of each node's network namespace: by it the threads and processes of a node are found from outside."""


def note_namespaces(directory: Path, hosts: Mapping[str, Host]) -> None:
    """Let visitors find the nodes of a run."""
    write_whole(directory / NAMESPACES, json.dumps({name: os.fstat(host.namespace).st_ino for name, host in hosts.items()}))
