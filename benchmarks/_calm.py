"""Measurements on a machine that is not ours alone: one during which the hypervisor took processors
away is taken again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from streambed.runner.machine_load import machine_load

Found = TypeVar("Found")


class Tried(NamedTuple, Generic[Found]):
    """What was found, and which share of all processors was taken away meanwhile."""

    found: Found
    stolen_share: float


def calmest(measure: Callable[[int], Found], *, enough: float, tries: int) -> Tried[Found]:
    """Of several tries that which lost the least; one that lost no more than is calm enough is the
    last. Each gets its number.
    """
    tried: list[Tried[Found]] = []
    while len(tried) < tries and not any(one.stolen_share <= enough for one in tried):
        before = spent()
        figures = measure(len(tried))
        busy, idle, stolen = (now - then for now, then in zip(spent(), before, strict=True))
        tried.append(Tried(figures, round(stolen / max(0.01, busy + idle + stolen), 4)))
    return min(tried, key=lambda one: one.stolen_share)


def spent() -> tuple[float, float, float]:
    """Processor seconds busy, idle and stolen so far."""
    load = dict(machine_load())
    return load["machine_busy_s"], load["machine_idle_s"], load["machine_stolen_s"]
