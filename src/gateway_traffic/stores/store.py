"""The protocol of a store of traffic, and comparisons of two stores.

A job writes batches of absolute sums, keyed by gateway, day and part of the day, so a repeated
batch changes nothing. The store also holds the number of each query's last batch: what was written
before a driver died is not written a second time.
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
        """The number of this query's last completely written batch, else NO_BATCH."""

    def write(
        self, query: str, batch: int, parts: Sequence[Part], anomalies: Sequence[Anomaly] = ()
    ) -> None:
        """Write a batch, unless it was written before. An anomaly stays one, with its newest
        score.
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
        """Close files and connections."""


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
    """A day's traffic, sent and received together, by the archive and by the stream."""

    day: int
    closed: bool
    """The stream's watermark has passed the day: it cannot change any more."""
    batch: float
    stream: float
    difference: float
    """The largest relative difference of any gateway; 1 if one store lacks a gateway."""


def agreement(batch: TrafficStore, stream: TrafficStore, *, lateness_days: int) -> list[Agreement]:
    """Compare the two stores day by day."""
    archived = {total.day: total.tx + total.rx for total in batch.days()}
    streamed = {total.day: total.tx + total.rx for total in stream.days()}
    days = sorted(archived.keys() | streamed.keys())
    closed_before = closed_by(max(days, default=0), lateness_days)
    return [
        Agreement(
            day,
            closed=day < closed_before,
            batch=archived.get(day, 0.0),
            stream=streamed.get(day, 0.0),
            difference=disagreement(batch, stream, day),
        )
        for day in days
    ]


def closed_by(newest: int, lateness_days: int) -> int:
    """Days before the returned one are closed once there is a record of the newest day."""
    return newest - lateness_days


def merged_totals(batch: TrafficStore, stream: TrafficStore, *, closed_before: int) -> list[Total]:
    """The merged view: closed days from the archive, later days from the stream."""
    days = {total.day for store in (batch, stream) for total in store.days()}
    totals = []
    for day in sorted(days):
        store = batch if day < closed_before else stream
        totals += store.totals_of_day(day)
    return totals


def disagreement(batch: TrafficStore, stream: TrafficStore, day: int) -> float:
    """The largest relative difference of any gateway's totals of a day between the two stores."""
    streamed = {total.gateway_id: total for total in stream.totals_of_day(day)}
    archived = {total.gateway_id: total for total in batch.totals_of_day(day)}
    if streamed.keys() != archived.keys():
        return 1.0
    largest = 0.0
    for name, total in archived.items():
        for one, other in ((total.tx, streamed[name].tx), (total.rx, streamed[name].rx)):
            if one != other:
                largest = max(largest, abs(one - other) / max(one, other))
    return largest
