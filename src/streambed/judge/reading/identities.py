"""Numbers of records: find the row of a producer and a sequence without a join.

Sequences of one life of a producer have no gaps, so that the sorted identities are a few runs of
neighbours. A search among the starts of the runs gives the row.
"""

from __future__ import annotations

import numpy as np

from streambed.errors import FormatError
from streambed.judge.arrays import SEQUENCE_BITS, SEQUENCE_MAX
from streambed.judge.columns import NONE, Int32s, Int64s, Numbers, RunIndex


def sort_keys(producers: Int32s, sequences: Int64s) -> tuple[Int64s, Int64s]:
    """A number for each identity that sorts as producer and sequence do, and the least sequence of
    each producer, from which it counts.
    """
    least = least_sequences(producers, sequences)
    keys = sequences - least[producers]
    if len(keys) and int(keys.max()) >= SEQUENCE_MAX:
        raise FormatError(
            f"sequences of one producer are {int(keys.max())} apart, and {SEQUENCE_MAX} is the "
            "most that can be judged: number the records of a run from 0 on"
        )
    keys |= producers.astype(np.int64) << SEQUENCE_BITS
    return keys, least


def least_sequences(producers: Int32s, sequences: Int64s) -> Int64s:
    """The least sequence of each producer; 0 for those without one."""
    count = int(producers.max()) + 1 if len(producers) else 0
    least = np.full(count, np.iinfo(np.int64).max)
    # Rows of a producer come in long stretches, as they were written.
    starts = np.flatnonzero(np.diff(producers, prepend=NONE)) if count else np.empty(0, np.int64)
    if len(starts):
        np.minimum.at(least, producers[starts], np.minimum.reduceat(sequences, starts))
    least[least == np.iinfo(np.int64).max] = 0
    return least


class Identities:
    """The rows of sorted identities."""

    def __init__(self, keys: Int64s, least: Int64s) -> None:
        self._least = least
        self._runs = RunIndex(keys)

    def rows(self, producers: Int32s, sequences: Int64s) -> Int32s:
        """The row of each identity; NONE if there is none."""
        rows: Numbers = np.full(len(producers), NONE, np.int32)
        known = (producers >= 0) & (producers < len(self._least))
        whole = bool(known.all())
        chosen = slice(None) if whole else known
        relative = sequences[chosen] - self._least[producers[chosen]]
        inside = (relative >= 0) & (relative < SEQUENCE_MAX)
        keys = relative | (producers[chosen].astype(np.int64) << SEQUENCE_BITS)
        rows[chosen] = np.where(inside, self._runs.rows(keys), NONE)
        return rows
