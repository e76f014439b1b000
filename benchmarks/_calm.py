"""Repeat measurements during which the hypervisor took CPU time away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from streambed.runner.machine_load import machine_load

Found = TypeVar("Found")


class Tried(NamedTuple, Generic[Found]):
    """A measurement and the share of CPU time that was stolen during it."""

    found: Found
    stolen_share: float


def calmest(measure: Callable[[int], Found], *, enough: float, tries: int) -> Tried[Found]:
    """Measure until the stolen share is at most `enough`, at most `tries` times; return the try
    with the smallest stolen share. `measure` is called with the number of the try.
    """
    tried: list[Tried[Found]] = []
    while len(tried) < tries and not any(one.stolen_share <= enough for one in tried):
        before = spent()
        figures = measure(len(tried))
        busy, idle, stolen = (now - then for now, then in zip(spent(), before, strict=True))
        tried.append(Tried(figures, round(stolen / max(0.01, busy + idle + stolen), 4)))
    return min(tried, key=lambda one: one.stolen_share)


def spent() -> tuple[float, float, float]:
    """CPU seconds busy, idle and stolen so far."""
    load = dict(machine_load())
    return load["machine_busy_s"], load["machine_idle_s"], load["machine_stolen_s"]
