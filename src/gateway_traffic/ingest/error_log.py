"""What is logged about malformed requests and failures: how many, never what they said.

A malformed request may contain a token, and anybody can send millions of them. So its text is
dropped, and a summary is logged at most once in `every_s`.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from gateway_traffic.ingest.tally import Tally

log = logging.getLogger(__name__)

SUMMARY_S = 60.0
PLACES_MAX = 20
"""Different places of failure in one summary."""


class ErrorLog:
    """Counts malformed requests and failures; `flush` logs a summary of them."""

    def __init__(
        self,
        tally: Tally,
        *,
        every_s: float = SUMMARY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tally = tally
        self._every_s = every_s
        self._clock = clock
        self._malformed = 0
        self._failures: Counter[str] = Counter()
        self._next_at = clock()

    def count_malformed(self) -> None:
        """A request was not HTTP as the server understands it."""
        self._malformed += 1
        self._tally.cut_off["malformed"] += 1

    def count_failure(self, error: BaseException | None) -> None:
        """The server itself failed to answer a request."""
        self._tally.failures[type(error).__name__] += 1
        place = place_of(error)
        if place in self._failures or len(self._failures) < PLACES_MAX:
            self._failures[place] += 1

    def flush(self) -> None:
        """Log what was counted since the last summary, if that was long enough ago."""
        if not (self._malformed or self._failures) or self._clock() < self._next_at:
            return
        if self._malformed:
            log.warning(
                "malformed requests: %d refused; what they said is not logged", self._malformed
            )
        for place, count in self._failures.items():
            log.error("requests that failed: %d by %s", count, place)
        self._malformed = 0
        self._failures.clear()
        self._next_at = self._clock() + self._every_s


def place_of(error: BaseException | None) -> str:
    """The class of an error and where it was raised, without its message."""
    if error is None:
        return "an unknown error"
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return type(error).__name__
    last = frames[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
