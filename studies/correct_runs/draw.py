"""The faults of a run, drawn by its seed: one to three in a row, each healed before the next."""

from __future__ import annotations

from random import Random
from typing import Any

Fault = dict[str, Any]

FIRST_S, EVERY_S, LAST_S = 2, 6, 14
"""Faults begin at 2, 8 and 14 s of the load; each has 5 s at most."""
KINDS: tuple[Fault, ...] = (
    {"kind": "kill", "target": "leader of orders/0"},
    {"kind": "kill", "target": "any broker"},
    {"kind": "kill", "target": "controller of kafka"},
    {"kind": "kill", "target": "reader"},
    {"kind": "kill", "target": "teller"},
    {"kind": "kill", "target": "clerk"},
    {"kind": "kill", "target": "shop"},
    {"kind": "kill", "target": "bank"},
    {"kind": "stop", "target": "leader of moves/0"},
    {"kind": "pause", "target": "leader of orders/0"},
    {"kind": "pause", "target": "reader"},
    {"kind": "pause", "target": "bank"},
    {"kind": "isolate", "target": "leader of moves/0"},
    {"kind": "isolate", "target": "edge"},
    {"kind": "isolate", "target": "home"},
    {"kind": "cut", "link": ["edge", "core"], "source": "core"},
    {"kind": "degrade", "link": ["edge", "core"], "loss": "5%", "delay": "30ms"},
    {"kind": "degrade", "link": ["broker2", "core"], "loss": "3%", "duplicate": "2%"},
)


def faults_of(seed: int) -> list[Fault]:
    """The faults of the run with this seed."""
    random = Random(seed)
    times = range(FIRST_S, LAST_S + 1, EVERY_S)
    chosen = sorted(random.sample(times, random.randint(1, len(times))))
    return [
        {**random.choice(KINDS), "at": f"{at}s", "lasts": f"{random.randint(20, 50) / 10}s"}
        for at in chosen
    ]


def name_of(fault: Fault) -> str:
    """A fault in few words: kill leader of orders/0."""
    target = fault.get("target") or "-".join(fault["link"])
    return f"{fault['kind']} {target}"
