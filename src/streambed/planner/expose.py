"""Expose: which ports of hosts can be reached on the user's own loopback while a run lasts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from streambed.errors import Problem, suggestion

PORT_MAX = 65_535
_TARGET = re.compile(r"([A-Za-z][A-Za-z0-9-]*):([0-9]{1,5})")


def target_of(text: str) -> tuple[str, int]:
    """The host and port of a text such as spark:4040; no host if it has another form."""
    match = _TARGET.fullmatch(text)
    if match is None or not 0 < int(match[2]) <= PORT_MAX:
        return "", 0
    return match[1], int(match[2])


def expose_problems(expose: dict[int, str], hosts: Sequence[str]) -> list[Problem]:
    """Ports that do not exist, and hosts that are not declared; keys relative to the experiment."""
    wrong = []
    example = f"{hosts[0] if hosts else 'edge'}:8080"
    for port, text in expose.items():
        node, _ = target_of(text)
        says = ""
        if not 0 < port <= PORT_MAX:
            says = f"{port} is not a port: give one from 1 to {PORT_MAX}, best above 1023"
        elif not node:
            advice = f"write its name and a port, such as {example}"
            says = f"'{text}' is not a port of a host: {advice}"
        elif node not in hosts:
            says = f"there is no host '{node}'. {suggestion(node, hosts)}"
        if says:
            wrong.append(Problem(key=f"expose.{port}", says=says))
    return wrong
