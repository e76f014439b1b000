"""Statistics of runs: percentiles, confidence intervals, and tests whether two runs differ.

Everything random is drawn from a seed, so the same records give the same result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Statistic = Literal["mean", "p50", "p90", "p95", "p99", "p999", "max", "sum"]
SHARES: dict[str, float] = {
    "p50": 0.5,
    "p90": 0.9,
    "p95": 0.95,
    "p99": 0.99,
    "p999": 0.999,
    "max": 1.0,
}
CONFIDENCE = 0.95
RESAMPLES = 1000
BLOCKS_MIN = 10
"""Fewer blocks than this in a run are too few to draw from."""
BISECTIONS = 50
GRID = 200_001
GROUPS = 2000
"""Resampled percentiles are looked up among this many groups of neighbouring values: exact up to as
many values, then to half a per mille.
"""


def statistic_of(statistic: Statistic, values: Numbers) -> float:
    """The statistic of all values. A percentile between two values is the higher one."""
    if statistic in SHARES:
        return float(np.sort(values)[_percentile_index(SHARES[statistic], np.float64(values.size))])
    return float(values.sum() if statistic == "sum" else values.mean())


def _percentile_index(share: float, counts: Numbers | np.float64) -> npt.NDArray[np.int64]:
    """The index of a percentile among `counts` ordered values."""
    return np.ceil(np.round(share * (counts - 1), 6)).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A few independent values: their mean, deviation and 95 % confidence interval."""

    count: int
    mean: float
    deviation: float | None
    low: float | None
    high: float | None
    method: str


def summary_of(values: Sequence[float]) -> Summary:
    """The mean of independent values with its confidence interval; one value alone has none."""
    count, mean = len(values), float(np.mean(values))
    if count == 1:
        return Summary(
            count=1,
            mean=mean,
            deviation=None,
            low=None,
            high=None,
            method="none: one value shows no spread",
        )
    deviation = float(np.std(values, ddof=1))
    half = student(count - 1) * deviation / math.sqrt(count)
    method = f"Student t, {count - 1} degree{'' if count == 2 else 's'} of freedom"
    return Summary(
        count=count,
        mean=mean,
        deviation=deviation,
        low=mean - half,
        high=mean + half,
        method=method,
    )


@cache
def student(freedom: int, confidence: float = CONFIDENCE) -> float:
    """How many standard errors to each side hold a share of Student's t distribution.

    With t = √freedom · tan(angle) the density is cos(angle) to the power of freedom - 1: smooth and
    bounded, so a grid integrates it.
    """
    angles = np.linspace(0.0, math.pi / 2, GRID)
    density = np.cos(angles) ** (freedom - 1)
    within = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2)))
    return math.sqrt(freedom) * math.tan(float(np.interp(confidence * within[-1], within, angles)))


@dataclass(frozen=True, kw_only=True)
class Observations:
    """Values of one run, each in a block of time. Blocks are independent of each other; values in
    the same block are not.
    """

    values: Numbers
    blocks: npt.NDArray[np.int64]

    @property
    def block_count(self) -> int:
        """How many blocks hold a value."""
        return int(np.unique(self.blocks).size)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One statistic of two runs: the difference, its confidence interval, and its p-value."""

    a: float
    b: float
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    """The share of random exchanges of blocks between the runs that differ at least as much."""

    @property
    def difference(self) -> float:
        """The value of B minus the value of A."""
        return self.b - self.a

    @property
    def clear(self) -> bool:
        """Whether the interval leaves 0 out, and chance alone seldom does as much."""
        if self.low is None or self.high is None or self.chance is None:
            return False
        return (self.low > 0 or self.high < 0) and self.chance <= 1 - CONFIDENCE


def difference_of(
    statistic: Statistic, a: Observations, b: Observations, *, seed: int = 1
) -> Difference:
    """Compare two runs by whole blocks: a bootstrap gives the interval, a permutation test the
    p-value.
    """
    plain = Difference(a=statistic_of(statistic, a.values), b=statistic_of(statistic, b.values))
    if min(a.block_count, b.block_count) < BLOCKS_MIN:
        return plain
    draw = np.random.default_rng(seed)
    drawn = _bootstrap(statistic, b, draw) - _bootstrap(statistic, a, draw)
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    exchanged = _permute(statistic, a, b, draw)
    as_large = int(np.sum(np.abs(exchanged) >= abs(plain.difference) * (1 - 1e-12)))
    return Difference(
        a=plain.a,
        b=plain.b,
        low=float(low),
        high=float(high),
        chance=(1 + as_large) / (1 + RESAMPLES),
    )


def _bootstrap(statistic: Statistic, of: Observations, draw: np.random.Generator) -> Numbers:
    """The statistic of resampled runs, whose blocks were drawn with replacement."""
    count = of.block_count
    times = draw.multinomial(count, np.full(count, 1 / count), RESAMPLES)
    return _weighted_statistic(statistic, of, times.astype(np.float64))


def _permute(
    statistic: Statistic, a: Observations, b: Observations, draw: np.random.Generator
) -> Numbers:
    """The difference after the blocks of both runs were exchanged at random."""
    both = Observations(
        values=np.concatenate((a.values, b.values)),
        blocks=np.concatenate((a.blocks, b.blocks + 1 + a.blocks.max())),
    )
    to_b = np.zeros((RESAMPLES, both.block_count))
    to_b[:, : b.block_count] = 1.0
    to_b = draw.permuted(to_b, axis=1)
    return _weighted_statistic(statistic, both, to_b) - _weighted_statistic(
        statistic, both, 1.0 - to_b
    )


def _weighted_statistic(statistic: Statistic, of: Observations, times: Numbers) -> Numbers:
    """The statistic for each row of `times`, which says how often each block counts."""
    if statistic in SHARES:
        return _weighted_percentile(SHARES[statistic], of, times)
    _, blocks = np.unique(of.blocks, return_inverse=True)
    sums: Numbers = times @ np.bincount(blocks, weights=of.values)
    if statistic == "sum":
        return sums
    counts: Numbers = times @ np.bincount(blocks)
    return sums / counts


def _weighted_percentile(share: float, of: Observations, times: Numbers) -> Numbers:
    """Sorted values in groups: count how often each group is drawn, and take the group in which
    the percentile is.
    """
    names, blocks = np.unique(of.blocks, return_inverse=True)
    order = np.argsort(of.values, kind="stable")
    group = np.arange(order.size) * min(GROUPS, order.size) // order.size
    ends = np.append(np.flatnonzero(np.diff(group)), order.size - 1)
    cells = group * names.size + blocks[order]
    counts = np.bincount(cells, minlength=ends.size * names.size)
    by_group_and_block = counts.reshape(ends.size, names.size)
    counted = np.cumsum(by_group_and_block @ times.T, axis=0)
    index = _percentile_index(share, counted[-1])
    reached = np.sum(counted <= index, axis=0)
    percentiles: Numbers = of.values[order[ends[reached]]]
    return percentiles


def share_interval(count: int, total: int) -> tuple[float, float]:
    """The exact 95 % confidence interval (Clopper and Pearson) of a share, seen `count` times in
    `total` independent tries.
    """
    tail = (1 - CONFIDENCE) / 2
    low = 0.0
    if count > 0:
        low = _where(lambda share: 1 - _at_most(count - 1, total, share) >= tail)
    high = 1.0
    if count < total:
        high = _where(lambda share: _at_most(count, total, share) <= tail)
    return low, high


def _at_most(count: int, total: int, share: float) -> float:
    """The probability of `count` successes or fewer."""
    return sum(
        math.comb(total, n) * share**n * (1 - share) ** (total - n) for n in range(count + 1)
    )


def _where(is_beyond: Callable[[float], bool]) -> float:
    """The share from which on something is true, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if is_beyond(middle):
            high = middle
        else:
            low = middle
    return high
