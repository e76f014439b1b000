"""Expose: which ports of hosts can be reached on the user's own loopback while a run lasts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from streambed.errors import Problem, suggestion

PORT_MAX = 65_535
_TARGET = re.compile(r"([A-Za-z][A-Za-z0-9-]*):([0-9]{1,5})")


def target_of(text: str) -> tuple[str, int]:
    """The host and the port that a text such as spark:4040 means; an empty host if it means
    none.
    """
    found = _TARGET.fullmatch(text)
    return (found[1], int(found[2])) if found and 0 < int(found[2]) <= PORT_MAX else ("", 0)


def expose_problems(expose: dict[int, str], hosts: Sequence[str]) -> list[Problem]:
    """What cannot be; keys relative to the experiment."""
    found = []
    for port, text in expose.items():
        node, _ = target_of(text)
        says = ""
        if not 0 < port <= PORT_MAX:
            says = f"{port} is not a port: give one from 1 to {PORT_MAX}, best above 1023"
        elif not node:
            says = f"'{text}' is not a port of a host: write its name and a port, such as {hosts[0] if hosts else 'edge'}:8080"
        elif node not in hosts:
            says = f"there is no host '{node}'. {suggestion(node, hosts)}"
        found += [Problem(key=f"expose.{port}", says=says)] if says else []
    return found
