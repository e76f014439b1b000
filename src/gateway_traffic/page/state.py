"""What the page shows: a store's newest state and its changes over the last minutes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gateway_traffic.records import DAY_MS
from gateway_traffic.stores.store import DayTotal, TrafficStore

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


class State:
    """Looks at a store repeatedly and remembers the last LOOKS_MAX looks."""

    def __init__(self, store: TrafficStore, lag: Callable[[], int | None]) -> None:
        self._store = store
        self._lag = lag
        self._looks: deque[Look] = deque(maxlen=LOOKS_MAX)
        self._days: list[DayTotal] = []

    def look(self, time_s: float) -> None:
        """Read the store's newest state."""
        self._days = self._store.days()
        records = sum(day.records for day in self._days)
        volume = sum(day.tx + day.rx for day in self._days)
        self._looks.append(Look(time_s, records, volume, self._lag()))

    def as_json(self, date: str = "") -> dict[str, Any]:
        """All that the page needs for a day, by default the newest."""
        newest = self._days[-1] if self._days else None
        day = next((day for day in self._days if date_of(day.day) == date), newest)
        looks = list(self._looks)
        records_per_s, bytes_per_s = rates(looks)
        return {
            "days": [date_of(day.day) for day in self._days],
            "day": self._day(day) if day else None,
            "records_per_s": records_per_s,
            "bytes_per_s": bytes_per_s,
            "lag": looks[-1].lag if looks else None,
            "course": [rates(looks[: end + 1])[0] for end in range(len(looks))],
            "anomalies": self._anomalies(day.day) if day else [],
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
    """Days since 1970 as an ISO date."""
    return datetime.fromtimestamp(day * DAY_MS / 1000, UTC).date().isoformat()
