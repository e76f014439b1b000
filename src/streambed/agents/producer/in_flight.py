"""Records in flight: sequence, due and sent time and key of each, until it is decided."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FIRST_SLOTS = 4096
COLUMNS = 4
Numbers = NDArray[np.int64]


class InFlight:
    """Sequence, due and sent time and hash of the key of each record in flight, in reusable slots.

    The client limits their number.
    """

    def __init__(self) -> None:
        self._known = np.empty((0, COLUMNS), np.int64)
        self._words = self._known.data
        self._free = np.empty(0, np.int64)
        """The first `_left` of these slots are free."""
        self._left = 0

    def add(self, known: Numbers) -> Numbers:
        """Add records and return their slots; a row of `known` is sequence, due, sent and key."""
        while self._left < len(known):
            self._grow()
        self._left -= len(known)
        slots = self._free[self._left : self._left + len(known)].copy()
        self._known[slots] = known
        return slots

    def add_one(self, sequence: int, due: int, sent: int, key: int) -> int:
        """Add one record and return its slot."""
        if not self._left:
            self._grow()
        self._left -= 1
        slot = int(self._free[self._left])
        self._words[slot, 0], self._words[slot, 1] = sequence, due
        self._words[slot, 2], self._words[slot, 3] = sent, key
        return slot

    def take(self, slots: Numbers) -> Numbers:
        """Remove decided records and return what is known of them."""
        self._free[self._left : self._left + len(slots)] = slots
        self._left += len(slots)
        return self._known[slots]

    def _grow(self) -> None:
        held = len(self._known)
        more = np.arange(held, 2 * held or FIRST_SLOTS)
        self._known = np.concatenate([self._known, np.zeros((len(more), COLUMNS), np.int64)])
        self._words = self._known.data
        self._free = np.concatenate(
            [self._free[: self._left], more, np.zeros(held - self._left, np.int64)]
        )
        self._left += len(more)
