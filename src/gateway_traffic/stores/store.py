"""What a store of traffic can do.

A job writes a batch: absolute sums, keyed by gateway, day and part of the day, so that a batch that is written again changes nothing.
The number of a query's last batch stands in the store too: what was written before a driver died is not written a second time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

TOP = 10
NO_BATCH = -1


class Part(NamedTuple):
    """What a gateway sent and received in one part of a day, in bytes; day is the number of days since 1970, UTC."""

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


class TrafficStore(Protocol):
    """One open store. Any number may read while one job writes."""

    def last_batch(self, query: str) -> int:
        """The number of the last batch of this query that is wholly there, NO_BATCH if none is."""

    def write(self, query: str, batch: int, parts: Sequence[Part]) -> None:
        """Keep a batch, once: one that is there already is not written again."""

    def days(self) -> list[DayTotal]:
        """Every day's total so far, in order."""

    def totals_of_gateway(self, gateway_id: str) -> list[Total]:
        """A gateway's days in order."""

    def totals_of_day(self, day: int) -> list[Total]:
        """A day's gateways, by name."""

    def top(self, day: int) -> Top:
        """The ten busiest gateways of a day."""

    def close(self) -> None:
        """Let go of files and connections."""


def top_of(day: int, totals: Iterable[Total]) -> Top:
    """The ten busiest of a day's gateways."""
    known = list(totals)
    sent = heapq.nsmallest(TOP, known, key=lambda total: (-total.tx, total.gateway_id))
    received = heapq.nsmallest(TOP, known, key=lambda total: (-total.rx, total.gateway_id))
    return Top(day, tuple((each.gateway_id, each.tx) for each in sent), tuple((each.gateway_id, each.rx) for each in received))
