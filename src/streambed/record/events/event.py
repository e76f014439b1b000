"""What every event has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something happened. `time` is monotonic nanoseconds; it is set when the event is recorded."""

    time: int = 0
