"""Records that are under way: what is known of each, until it is decided."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PLACES_AT_FIRST = 4096
Numbers = NDArray[np.int64]


class UnderWay:
    """Sequence, due and sent of each record, at a place of its own; places are used again. The
    client limits how many there are.
    """

    def __init__(self) -> None:
        self._known = np.empty((0, 3), np.int64)
        self._words = self._known.data
        self._free = np.empty(0, np.int64)
        """The first `_left` of these places are free."""
        self._left = 0

    def add(self, known: Numbers) -> Numbers:
        """The places that records get; each row of `known` is sequence, due and sent."""
        while self._left < len(known):
            self._grow()
        self._left -= len(known)
        places = self._free[self._left : self._left + len(known)].copy()
        self._known[places] = known
        return places

    def add_one(self, sequence: int, due: int, sent: int) -> int:
        """The place that one record gets."""
        if not self._left:
            self._grow()
        self._left -= 1
        place = int(self._free[self._left])
        self._words[place, 0], self._words[place, 1], self._words[place, 2] = sequence, due, sent
        return place

    def take(self, places: Numbers) -> Numbers:
        """What is known of records that are decided; their places are free again."""
        self._free[self._left : self._left + len(places)] = places
        self._left += len(places)
        return self._known[places]

    def _grow(self) -> None:
        held = len(self._known)
        more = np.arange(held, 2 * held or PLACES_AT_FIRST)
        self._known = np.concatenate([self._known, np.zeros((len(more), 3), np.int64)])
        self._words = self._known.data
        self._free = np.concatenate(
            [self._free[: self._left], more, np.zeros(held - self._left, np.int64)]
        )
        self._left += len(more)
