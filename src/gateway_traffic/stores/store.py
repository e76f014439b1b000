"""What a store of traffic can do.

A job writes a batch: absolute sums, keyed by gateway, day and part of the day, so that a batch that
is written again changes nothing. The number of a query's last batch stands in the store too: what
was written before a driver died is not written a second time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

TOP = 10
NO_BATCH = -1


class Part(NamedTuple):
    """What a gateway sent and received in one part of a day, in bytes; day is the number of days
    since 1970, UTC.
    """

    gateway_id: str
    day: int
    part: int
    tx: float
    rx: float
    records: int


class Total(NamedTuple):
    """What a gateway sent and received on a day, in bytes."""

    gateway_id: str
    day: int
    tx: float
    rx: float
    records: int


class DayTotal(NamedTuple):
    """All gateways of a day together."""

    day: int
    tx: float
    rx: float
    records: int


class Top(NamedTuple):
    """The busiest gateways of a day, the busiest first; ties go by gateway_id."""

    day: int
    sent: tuple[tuple[str, float], ...]
    received: tuple[tuple[str, float], ...]


class Mean(NamedTuple):
    """What a gateway sent and received on average in one part of a day, over all gateways that
    reported.
    """

    day: int
    part: int
    tx: float
    rx: float
    gateways: int


class Anomaly(NamedTuple):
    """A part of a day in which a gateway did not behave as others do; the score is in standard
    deviations.
    """

    gateway_id: str
    day: int
    part: int
    score: float


class TrafficStore(Protocol):
    """One open store. Any number may read while one job writes."""

    def last_batch(self, query: str) -> int:
        """The number of the last batch of this query that is wholly there, NO_BATCH if none is."""

    def write(
        self, query: str, batch: int, parts: Sequence[Part], anomalies: Sequence[Anomaly] = ()
    ) -> None:
        """Keep a batch, once: one that is there already is not written again. An anomaly stays one,
        with its newest score.
        """

    def days(self) -> list[DayTotal]:
        """Every day's total so far, in order."""

    def totals_of_gateway(self, gateway_id: str) -> list[Total]:
        """A gateway's days in order."""

    def totals_of_day(self, day: int) -> list[Total]:
        """A day's gateways, by name."""

    def top(self, day: int) -> Top:
        """The ten busiest gateways of a day."""

    def means(self, day: int) -> list[Mean]:
        """The mean over all gateways, for each part of a day."""

    def anomalies(self, day: int) -> list[Anomaly]:
        """A day's anomalies, by part and name."""

    def close(self) -> None:
        """Let go of files and connections."""


def top_of(day: int, totals: Iterable[Total]) -> Top:
    """The ten busiest of a day's gateways."""
    known = list(totals)
    sent = heapq.nsmallest(TOP, known, key=lambda total: (-total.tx, total.gateway_id))
    received = heapq.nsmallest(TOP, known, key=lambda total: (-total.rx, total.gateway_id))
    return Top(
        day,
        tuple((each.gateway_id, each.tx) for each in sent),
        tuple((each.gateway_id, each.rx) for each in received),
    )


class Agreement(NamedTuple):
    """A day's traffic, both ways together, by the archive and by the stream."""

    day: int
    closed: bool
    """The stream's watermark has passed it: nothing of it can change any more."""
    batch: float
    stream: float
    difference: float
    """The largest relative difference of any gateway; 1 if one of the two does not know a gateway.
    """


def agreement(batch: TrafficStore, stream: TrafficStore, *, lateness_days: int) -> list[Agreement]:
    """Day by day."""
    sums = [{total.day: total.tx + total.rx for total in store.days()} for store in (batch, stream)]
    days = sorted(sums[0].keys() | sums[1].keys())
    closed_before = closed_by(max(days, default=0), lateness_days)
    return [
        Agreement(
            day,
            day < closed_before,
            sums[0].get(day, 0.0),
            sums[1].get(day, 0.0),
            disagreement(batch, stream, day),
        )
        for day in days
    ]


def closed_by(newest: int, lateness_days: int) -> int:
    """Days before this one are closed if there is a record of the newest."""
    return newest - lateness_days


def merged(batch: TrafficStore, stream: TrafficStore, *, closed_before: int) -> list[Total]:
    """The merged view: closed days as the archive has them, the days since then as the stream has
    them.
    """
    days = {total.day for store in (batch, stream) for total in store.days()}
    return [
        total
        for day in sorted(days)
        for total in (batch if day < closed_before else stream).totals_of_day(day)
    ]


def disagreement(batch: TrafficStore, stream: TrafficStore, day: int) -> float:
    """By how much the stream's totals of a day differ from the archive's: the largest relative
    difference of any gateway.
    """
    found = {total.gateway_id: total for total in stream.totals_of_day(day)}
    wanted = {total.gateway_id: total for total in batch.totals_of_day(day)}
    if found.keys() != wanted.keys():
        return 1.0
    pairs = [
        pair
        for name, total in wanted.items()
        for pair in ((total.tx, found[name].tx), (total.rx, found[name].rx))
    ]
    return max(
        (abs(one - other) / max(one, other) for one, other in pairs if one != other), default=0.0
    )
