"""What the page shows: a store's newest state, and how it changed over the last minutes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gateway_traffic.records import DAY_MS
from gateway_traffic.stores.store import DayTotal, Top, TrafficStore

KEPT = 300
"""Looks that are remembered: five minutes, at one a second."""
RATE_S = 10.0
"""Rates are over the last so many seconds: a store changes in batches."""
ANOMALIES_SHOWN = 20


class Look(NamedTuple):
    """The store at one moment; lag is None where it is not known."""

    time_s: float
    records: int
    bytes: float
    lag: int | None


class State:
    """Looks at a store again and again, and remembers."""

    def __init__(self, store: TrafficStore, lag: Callable[[], int | None]) -> None:
        self._store = store
        self._lag = lag
        self._looks: deque[Look] = deque(maxlen=KEPT)
        self._days: list[DayTotal] = []

    def look(self, time_s: float) -> None:
        """Take the newest state."""
        self._days = self._store.days()
        records, volume = (
            sum(day.records for day in self._days),
            sum(day.tx + day.rx for day in self._days),
        )
        self._looks.append(Look(time_s, records, volume, self._lag()))

    def shown(self, date: str = "") -> dict[str, Any]:
        """All that the page needs, as JSON has it; of the newest day unless another is named."""
        day = next(
            (day for day in self._days if date_of(day.day) == date),
            self._days[-1] if self._days else None,
        )
        records_per_s, bytes_per_s = rates(list(self._looks))
        return {
            "days": [date_of(day.day) for day in self._days],
            "day": _day(day, self._store.top(day.day), len(self._store.totals_of_day(day.day)))
            if day
            else None,
            "records_per_s": records_per_s,
            "bytes_per_s": bytes_per_s,
            "lag": self._looks[-1].lag if self._looks else None,
            "course": [rates(list(self._looks)[: end + 1])[0] for end in range(len(self._looks))],
            "anomalies": self._anomalies(day.day) if day else [],
        }

    def _anomalies(self, day: int) -> list[dict[str, Any]]:
        """The oddest of a day."""
        found = sorted(self._store.anomalies(day), key=lambda each: -each.score)
        return [
            {"gateway_id": each.gateway_id, "hour": each.part, "score": each.score}
            for each in found[:ANOMALIES_SHOWN]
        ]


def rates(looks: Sequence[Look]) -> tuple[float, float]:
    """Records and bytes a second over the last RATE_S."""
    if len(looks) < 2:
        return 0.0, 0.0
    last = looks[-1]
    first = next(look for look in looks if look.time_s >= last.time_s - RATE_S)
    seconds = last.time_s - first.time_s
    return (
        ((last.records - first.records) / seconds, (last.bytes - first.bytes) / seconds)
        if seconds > 0
        else (0.0, 0.0)
    )


def date_of(day: int) -> str:
    """Days since 1970 as people write them."""
    return datetime.fromtimestamp(day * DAY_MS / 1000, UTC).date().isoformat()


def _day(day: DayTotal, top: Top, gateways: int) -> dict[str, Any]:
    return {
        "date": date_of(day.day),
        "sent": day.tx,
        "received": day.rx,
        "records": day.records,
        "gateways": gateways,
        "top_sent": top.sent,
        "top_received": top.received,
    }
