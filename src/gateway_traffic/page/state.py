"""What the page shows: a store's newest state and its changes over the last minutes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from math import isfinite
from typing import Any, NamedTuple

from gateway_traffic.stores.store import DayTotal, TrafficStore

EPOCH = date(1970, 1, 1)
LOOKS_MAX = 300
"""Looks in memory: five minutes at one a second."""
RATE_S = 10.0
"""The window of rates, because a store changes in batches."""
ANOMALIES_SHOWN = 20


class Look(NamedTuple):
    """The store at one moment; lag is None if unknown."""

    time_s: float
    records: int
    bytes: float
    lag: int | None


class Contents(NamedTuple):
    """What the last look found. One object, because requests read it while another look runs."""

    days: Sequence[DayTotal] = ()
    trouble: str = ""
    """What is wrong with the numbers in the store; empty if nothing is."""


class State:
    """Looks at a store repeatedly and remembers the last LOOKS_MAX looks."""

    def __init__(self, store: TrafficStore, lag: Callable[[], int | None]) -> None:
        self._store = store
        self._lag = lag
        self._looks: deque[Look] = deque(maxlen=LOOKS_MAX)
        self._contents = Contents()

    def look(self, time_s: float) -> None:
        """Read the store's newest state."""
        stored = self._store.days()
        days = [day for day in stored if date_of(day.day)]
        self._contents = Contents(days, _trouble_with(stored))
        records = sum(day.records for day in days)
        volume = sum(day.tx + day.rx for day in days)
        self._looks.append(Look(time_s, records, volume, self._lag()))

    def as_json(self, chosen: str = "") -> dict[str, Any]:
        """All that the page needs for a day, by default the newest."""
        days, trouble = self._contents
        newest = days[-1] if days else None
        day = next((day for day in days if date_of(day.day) == chosen), newest)
        looks = list(self._looks)
        records_per_s, bytes_per_s = rates(looks)
        return {
            "days": [date_of(day.day) for day in days],
            "day": self._day(day) if day else None,
            "records_per_s": records_per_s,
            "bytes_per_s": bytes_per_s,
            "lag": looks[-1].lag if looks else None,
            "seconds": looks[-1].time_s - looks[0].time_s if looks else 0.0,
            "course": [rates(looks[: end + 1])[0] for end in range(len(looks))],
            "anomalies": self._anomalies(day.day) if day else [],
            "trouble": trouble,
        }

    def _day(self, day: DayTotal) -> dict[str, Any]:
        top = self._store.top(day.day)
        return {
            "date": date_of(day.day),
            "sent": day.tx,
            "received": day.rx,
            "records": day.records,
            "gateways": len(self._store.totals_of_day(day.day)),
            "top_sent": top.sent,
            "top_received": top.received,
        }

    def _anomalies(self, day: int) -> list[dict[str, Any]]:
        """The anomalies of a day with the highest scores."""
        ranked = sorted(self._store.anomalies(day), key=lambda each: -each.score)
        return [
            {"gateway_id": each.gateway_id, "hour": each.part, "score": each.score}
            for each in ranked[:ANOMALIES_SHOWN]
        ]


def rates(looks: Sequence[Look]) -> tuple[float, float]:
    """Records and bytes a second over the last RATE_S."""
    if len(looks) < 2:
        return 0.0, 0.0
    last = looks[-1]
    first = next(look for look in looks if look.time_s >= last.time_s - RATE_S)
    seconds = last.time_s - first.time_s
    if seconds <= 0:
        return 0.0, 0.0
    return (last.records - first.records) / seconds, (last.bytes - first.bytes) / seconds


def date_of(day: int) -> str:
    """Days since 1970 as an ISO date; empty if there is no such date."""
    try:
        return (EPOCH + timedelta(days=day)).isoformat()
    except OverflowError:
        return ""


def _trouble_with(days: Sequence[DayTotal]) -> str:
    for day in days:
        if not date_of(day.day):
            return f"the store has a day that is no date: {day.day} days since 1970"
        if not isfinite(day.tx + day.rx):
            return f"the store has a sum that is no number, on {date_of(day.day)}"
    return ""
