"""How drawn delays spread around their mean: one table, from which netem and the delay line both
draw.

A table holds equally likely deviations in 8192nds of a width. This is netem's form, where the width
is called jitter. The width is chosen so that the largest deviation just fits into an entry, so even
a long tail is complete.
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
        if not self.table:
            return -self.width_ns
        return round(self.width_ns * min(self.table) / PARTS)

    @property
    def most_ns(self) -> int:
        """The most that a drawn delay exceeds the mean."""
        if not self.table:
            return self.width_ns
        return round(self.width_ns * max(self.table) / PARTS)


@lru_cache
def spread(distribution: str, jitter_ns: int, samples_ns: tuple[int, ...] = ()) -> Spread:
    """What to draw from: `jitter_ns` is the bound of "uniform" and the standard deviation of the
    others but "samples".
    """
    if distribution == "uniform":
        return Spread(width_ns=jitter_ns)
    if distribution == "samples":
        mean_ns = fmean(samples_ns)
        return _spread_of([sample_ns - mean_ns for sample_ns in samples_ns])
    quantiles = _QUANTILES[distribution]()
    return _spread_of([jitter_ns * quantile for quantile in quantiles])


def thin_out(samples: Sequence[int]) -> tuple[int, ...]:
    """As many samples as a table holds: all of them, or if there are more, the middle of each of
    4096 equal parts when sorted.
    """
    if len(samples) <= ENTRIES_MAX:
        return tuple(samples)
    ranked = sorted(samples)
    half_parts = 2 * ENTRIES
    middles = [(2 * entry + 1) * len(ranked) // half_parts for entry in range(ENTRIES)]
    return tuple(ranked[middle] for middle in middles)


def _spread_of(deviations_ns: list[float]) -> Spread:
    """The narrowest width whose table holds all deviations."""
    largest_ns = max(map(abs, deviations_ns))
    width_ns = math.ceil(largest_ns * PARTS / ENTRY_MAX)
    if not width_ns:
        return Spread()
    table = [round(deviation_ns * PARTS / width_ns) for deviation_ns in deviations_ns]
    return Spread(width_ns=width_ns, table=tuple(table))


@lru_cache
def _normal() -> tuple[float, ...]:
    return _standardise([NormalDist().inv_cdf(chance) for chance in _chances()])


@lru_cache
def _pareto() -> tuple[float, ...]:
    return _standardise([(1 - chance) ** (-1 / PARETO_SHAPE) for chance in _chances()])


_QUANTILES = {"normal": _normal, "pareto": _pareto}


def _chances() -> list[float]:
    return [(entry + 0.5) / ENTRIES for entry in range(ENTRIES)]


def _standardise(values: list[float]) -> tuple[float, ...]:
    mean, deviation = fmean(values), pstdev(values)
    return tuple((value - mean) / deviation for value in values)
