"""How drawn delays spread around their mean: one table, from which netem and the delay line both
draw.

A table holds deviations in 8192nds of a width, each as likely as the others: netem's own form,
where the width is called jitter. The width is made so that the largest deviation just fits into an
entry; so nothing is cut off, however long the tail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean, pstdev

PARTS = 8192
ENTRY_MAX = 32_767
"""Entries have 16 bits."""
ENTRIES = 4096
ENTRIES_MAX = 16_384
"""The longest table that netem takes."""
PARETO_SHAPE = 3.0


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Deviations from a mean: `table` in 8192nds of `width_ns`; without a table, evenly up to
    `width_ns` to both sides.
    """

    width_ns: int = 0
    table: tuple[int, ...] = ()

    @property
    def least_ns(self) -> int:
        """The most that a drawn delay falls short of the mean, as a negative number."""
        return round(self.width_ns * min(self.table) / PARTS) if self.table else -self.width_ns

    @property
    def most_ns(self) -> int:
        """The most that a drawn delay exceeds the mean."""
        return round(self.width_ns * max(self.table) / PARTS) if self.table else self.width_ns


@lru_cache
def spread(distribution: str, jitter_ns: int, samples_ns: tuple[int, ...] = ()) -> Spread:
    """What to draw from: `jitter_ns` is the bound of "uniform" and the standard deviation of the
    others but "samples".
    """
    if distribution == "uniform":
        return Spread(width_ns=jitter_ns)
    if distribution == "samples":
        mean = fmean(samples_ns)
        return _fitted([sample - mean for sample in samples_ns])
    return _fitted([jitter_ns * quantile for quantile in _QUANTILES[distribution]()])


def thinned(samples: Sequence[int]) -> tuple[int, ...]:
    """As many samples as a table holds: all of them, or if there are more, the middle of each of
    4096 equal parts when sorted.
    """
    if len(samples) <= ENTRIES_MAX:
        return tuple(samples)
    ranked = sorted(samples)
    return tuple(ranked[(2 * entry + 1) * len(ranked) // (2 * ENTRIES)] for entry in range(ENTRIES))


def _fitted(deviations_ns: list[float]) -> Spread:
    width_ns = math.ceil(max(map(abs, deviations_ns)) * PARTS / ENTRY_MAX)
    if not width_ns:
        return Spread()
    return Spread(
        width_ns=width_ns,
        table=tuple(round(deviation * PARTS / width_ns) for deviation in deviations_ns),
    )


@lru_cache
def _normal() -> tuple[float, ...]:
    return _standardised([NormalDist().inv_cdf(chance) for chance in _chances()])


@lru_cache
def _pareto() -> tuple[float, ...]:
    return _standardised([(1 - chance) ** (-1 / PARETO_SHAPE) for chance in _chances()])


_QUANTILES = {"normal": _normal, "pareto": _pareto}


def _chances() -> list[float]:
    return [(entry + 0.5) / ENTRIES for entry in range(ENTRIES)]


def _standardised(values: list[float]) -> tuple[float, ...]:
    mean, deviation = fmean(values), pstdev(values)
    return tuple((value - mean) / deviation for value in values)
