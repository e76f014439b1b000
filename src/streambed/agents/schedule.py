"""The schedule of a producer: which record is due when, and which is the first for one that was started again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, Protocol

from streambed.agents.due_times import Timetable
from streambed.agents.rate_profile import timetable_of
from streambed.record import now_ns


class Schedule(Protocol):
    """Numbers of records, and when each is due."""

    def first(self, incarnation: int) -> int:
        """The first record to send. Started again: what was due meanwhile is not sent, and no number is used twice."""

    def from_number(self, first: int) -> Iterator[tuple[int, int]]:
        """The number of each record from `first` on, and when it is due."""


class AtTimes:
    """Each record has a time of its own."""

    def __init__(self, timetable: Timetable, *, start_ns: int, last: int) -> None:
        self.last = last
        self._timetable = timetable
        self._start_ns = start_ns

    def first(self, incarnation: int) -> int:
        """As of a schedule."""
        return 0 if incarnation == 1 else self._timetable.next_after(now_ns() - self._start_ns)

    def from_number(self, first: int) -> Iterator[tuple[int, int]]:
        """As of a schedule."""
        for sequence, due in self._timetable.from_number(first):
            if sequence >= self.last:
                return
            yield sequence, self._start_ns + due


class AllAtOnce:
    """A burst: all records are due at the start."""

    def __init__(self, *, start_ns: int, last: int) -> None:
        self.last = last
        self._start_ns = start_ns

    def first(self, incarnation: int) -> int:
        """As of a schedule."""
        return 0 if incarnation == 1 else self.last

    def from_number(self, first: int) -> Iterator[tuple[int, int]]:
        """As of a schedule."""
        return ((sequence, self._start_ns) for sequence in range(first, self.last))


class AsTheyGo:
    """As many as the client takes until the load ends, each due when it is sent."""

    def __init__(self, *, start_ns: int, end_ns: int) -> None:
        self._start_ns = start_ns
        self._end_ns = end_ns

    def first(self, incarnation: int) -> int:
        """As of a schedule."""
        return 0 if incarnation == 1 else max(0, now_ns() - self._start_ns) + 1

    def from_number(self, first: int) -> Iterator[tuple[int, int]]:
        """As of a schedule."""
        for sequence in count(first):
            due = max(self._start_ns, now_ns())
            if due >= self._end_ns:
                return
            yield sequence, due


def schedule_of(order: dict[str, Any], *, held: int, start_ns: int, number: int = 0, seed: str = "") -> Schedule:
    """The schedule of the producer of that number; `held` is how much content its file has."""
    wanted = order["rounds"] * held if order["rounds"] else order["count"]
    if order["rate"] is None:
        if wanted is not None:
            return AllAtOnce(start_ns=start_ns, last=wanted)
        return AsTheyGo(start_ns=start_ns, end_ns=start_ns + order["duration_ns"])
    # Many producers at one rate take turns: all at the same moments they would be a burst at each step.
    timetable = timetable_of(order, shift=number / order["of"], seed=f"{seed} {number}")
    return AtTimes(timetable, start_ns=start_ns, last=timetable.count if wanted is None else min(wanted, timetable.count))
