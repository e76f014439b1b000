"""When records are due: a rate that changes over the load, and each record's due time. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
AT_ONCE = 4096
ROUNDING = 1e-9
"""Tolerance for rounding when records are counted."""


class Due(NamedTuple):
    """Consecutive records: the number of the first, and when each is due, in order."""

    first: int
    times: list[int]

    @property
    def sequences(self) -> range:
        """The numbers of these records."""
        return range(self.first, self.first + len(self.times))

    def between(self, begin: int, end: int | None = None) -> Due:
        """A part of these records, by index."""
        return Due(self.first + begin, self.times[begin:end])


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A span of time in which the rate changes linearly."""

    lasts_s: float
    first: float
    last: float


class RateCurve:
    """The rate over the whole load, as stretches. `times` turns record numbers into times."""

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        lasting = [stretch for stretch in stretches if stretch.lasts_s > 0]
        self._lasts = np.array([stretch.lasts_s for stretch in lasting], dtype=np.float64)
        self._first = np.array([stretch.first for stretch in lasting], dtype=np.float64)
        self._last = np.array([stretch.last for stretch in lasting], dtype=np.float64)
        self._starts = np.concatenate(([0.0], np.cumsum(self._lasts)))
        self._before = np.concatenate(
            ([0.0], np.cumsum((self._first + self._last) / 2 * self._lasts))
        )

    @property
    def count(self) -> int:
        """The number of records due in all."""
        return int(self._before[-1] + ROUNDING)

    def times(self, numbers: Numbers) -> Numbers:
        """When each number of records is reached, in seconds from the start."""
        at = np.clip(
            np.searchsorted(self._before, numbers, side="right") - 1, 0, len(self._lasts) - 1
        )
        left = numbers - self._before[at]
        first, growth = self._first[at], (self._last[at] - self._first[at]) / self._lasts[at]
        # The smaller root of a quadratic, in the form that is exact for a nearly constant rate.
        below = first + np.sqrt(np.maximum(first**2 + 2 * growth * left, 0))
        return self._starts[at] + np.divide(
            2 * left, below, out=np.zeros_like(left), where=below > 0
        )


class Timetable:
    """The time at which each record is due, in nanoseconds from the start."""

    def __init__(
        self, course: RateCurve, positions: Numbers | None = None, *, shift: float = 0.0
    ) -> None:
        """`positions` places records that do not come at equal steps; `shift` moves them by a part
        of a step.
        """
        self._times: Callable[[Numbers], Numbers] = course.times
        self._positions = positions
        self._shift = shift
        self.count = course.count

    @classmethod
    def at_times(cls, times: Numbers, *, until_s: float) -> Timetable:
        """The timetable of records with known times."""
        within = times[times < until_s]
        timetable = cls(RateCurve([]), within)
        timetable.count, timetable._times = len(within), lambda seconds: seconds
        return timetable

    def from_number(self, first: int) -> Iterator[Due]:
        """All records from `first` on."""
        for begin in range(first, self.count, AT_ONCE):
            end = min(begin + AT_ONCE, self.count)
            if self._positions is None:
                numbers = np.arange(begin, end, dtype=np.float64) + self._shift
            else:
                numbers = self._positions[begin:end]
            yield Due(begin, self._nanoseconds(numbers))

    def next_after(self, time_ns: int) -> int:
        """The first record that is due after a time."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            due = next(self.from_number(middle))
            low, high = (low, middle) if due.times[0] > time_ns else (middle + 1, high)
        return low

    def _nanoseconds(self, numbers: Numbers) -> list[int]:
        times_ns: list[int] = np.rint(self._times(numbers) * 1e9).astype(np.int64).tolist()
        return times_ns
