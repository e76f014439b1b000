"""The schedule of a producer: when each record is due, and the first one after a restart."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import count
from typing import Protocol

from streambed.agents.producer.rate_profile import timetable_of
from streambed.agents.producer.timetable import Due, Timetable
from streambed.record import now_ns
from streambed.record.orders import ProducerMember, ScheduleOrder

AT_ONCE = 500
"""Records that are due together without a rate."""
NEVER = 1 << 63
"""A time after all others."""


class Schedule(Protocol):
    """Which records are due, and when."""

    def first(self, incarnation: int) -> int:
        """The first record to send. After a restart, records due meanwhile are skipped, and no
        number is used twice.
        """

    def from_number(self, first: int) -> Iterator[Due]:
        """All records from `first` on."""


class AtTimes:
    """Each record is due at its time in a timetable."""

    def __init__(self, timetable: Timetable, *, start_ns: int, last: int) -> None:
        self.last = last
        self._timetable = timetable
        self._start_ns = start_ns

    def first(self, incarnation: int) -> int:
        """0, or after a restart the next record."""
        return 0 if incarnation == 1 else self._timetable.next_after(now_ns() - self._start_ns)

    def from_number(self, first: int) -> Iterator[Due]:
        """All records from `first` on."""
        for due in self._timetable.from_number(first):
            if due.first >= self.last:
                return
            times = due.times[: self.last - due.first]
            yield Due(due.first, [self._start_ns + time for time in times])


class AllAtOnce:
    """A burst: all records are due at the start."""

    def __init__(self, *, start_ns: int, last: int) -> None:
        self.last = last
        self._start_ns = start_ns

    def first(self, incarnation: int) -> int:
        """0, or after a restart the next record."""
        return 0 if incarnation == 1 else self.last

    def from_number(self, first: int) -> Iterator[Due]:
        """All records from `first` on."""
        return (
            Due(begin, [self._start_ns] * min(AT_ONCE, self.last - begin))
            for begin in range(first, self.last, AT_ONCE)
        )


class AsFastAsPossible:
    """As many as the client takes until the load ends, each due when it is sent."""

    def __init__(self, *, start_ns: int, end_ns: int) -> None:
        self._start_ns = start_ns
        self._end_ns = end_ns

    def first(self, incarnation: int) -> int:
        """0, or after a restart the next record."""
        return 0 if incarnation == 1 else max(0, now_ns() - self._start_ns) + 1

    def from_number(self, first: int) -> Iterator[Due]:
        """All records from `first` on."""
        for begin in count(first, AT_ONCE):
            due = max(self._start_ns, now_ns())
            if due >= self._end_ns:
                return
            yield Due(begin, [due] * AT_ONCE)


class PendingRecords:
    """The records that one producer is still to send."""

    def __init__(self, coming: Iterator[Due]) -> None:
        self._coming = coming
        self._held = Due(0, [])
        self._taken = 0
        """How many of the held records were taken."""

    def next_due(self) -> int:
        """When the next record is due; `NEVER` if there is none."""
        if self._taken == len(self._held.times):
            self._held, self._taken = next(self._coming, Due(0, [NEVER])), 0
        return self._held.times[self._taken]

    def take(self, time: int, *, most: int) -> Due:
        """The next record, even if it is not due, and those after it that are; `most` in all."""
        begin, times = self._taken, self._held.times
        self._taken = bisect_right(times, time, lo=begin + 1, hi=min(begin + most, len(times)))
        return self._held.between(begin, self._taken)


def schedule_of(
    order: ScheduleOrder, member: ProducerMember, *, held: int, start_ns: int, seed: str = ""
) -> Schedule:
    """The schedule of one producer; `held` is the number of contents in its file."""
    wanted = order.rounds * held if order.rounds else order.count
    if order.rate is None:
        if wanted is not None:
            return AllAtOnce(start_ns=start_ns, last=wanted)
        return AsFastAsPossible(start_ns=start_ns, end_ns=start_ns + order.duration_ns)
    # Producers at one rate take turns; at the same moments they would send a burst at each step.
    timetable = timetable_of(order, shift=member.number / member.of, seed=f"{seed} {member.number}")
    last = timetable.count if wanted is None else min(wanted, timetable.count)
    return AtTimes(timetable, start_ns=start_ns, last=last)
