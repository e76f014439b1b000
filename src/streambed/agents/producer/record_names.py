"""The names of a producer's records, producer/sequence, in memory: many are made at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streambed.agents.kafka import librdkafka

AT_ONCE = 1000
_TAILS = [b"%03d" % number for number in range(AT_ONCE)]
_FIRST_NUMBERS = [
    [b"%d" % number for number in numbers]
    for numbers in (range(10), range(10, 100), range(100, AT_ONCE))
]


class RecordNames:
    """The names of records `first` to `past` - 1 in one buffer, all of one length."""

    def __init__(self, producer: str) -> None:
        self._prefix = f"{producer}/".encode()
        self.hold(0)

    def hold(self, sequence: int) -> None:
        """Fill the buffer with the name of this record and of its neighbours."""
        thousands, rest = divmod(sequence, AT_ONCE)
        tails = _TAILS if thousands else _FIRST_NUMBERS[len(str(rest)) - 1]
        head = self._prefix + (b"%d" % thousands if thousands else b"")
        self._text = head + head.join(tails)
        self._width = len(head) + len(tails[0])
        self.first = thousands * AT_ONCE if thousands else int(tails[0])
        self.past = self.first + len(tails)
        self._address, _ = librdkafka.address_of(self._text)

    def address_of(self, sequence: int) -> tuple[int, int]:
        """Address and length of the name of a record in the buffer."""
        return self._address + (sequence - self.first) * self._width, self._width

    def addresses_of(self, sequences: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        """Addresses and length of the names of records in the buffer."""
        return self._address + (sequences - self.first) * self._width, self._width
