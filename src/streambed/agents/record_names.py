"""The names of a producer's records, producer/sequence, as they lie in memory: many are made at once."""

from __future__ import annotations

import ctypes

AT_ONCE = 1000
_TAILS = [b"%03d" % number for number in range(AT_ONCE)]
_FIRST_NUMBERS = [[b"%d" % number for number in numbers] for numbers in (range(10), range(10, 100), range(100, AT_ONCE))]


class RecordNames:
    """Names of the records from `first` up to but without `past`: all of `width` bytes, one after the other from `address` on."""

    def __init__(self, producer: str) -> None:
        self._prefix = f"{producer}/".encode()
        self.turn_to(0)

    def turn_to(self, sequence: int) -> None:
        """Hold the name of the record of that number and of its neighbours."""
        thousands, rest = divmod(sequence, AT_ONCE)
        tails = _TAILS if thousands else _FIRST_NUMBERS[len(str(rest)) - 1]
        head = self._prefix + (b"%d" % thousands if thousands else b"")
        self._text = head + head.join(tails)
        self.width = len(head) + len(tails[0])
        self.first = thousands * AT_ONCE if thousands else int(tails[0])
        self.past = self.first + len(tails)
        self.address: int = ctypes.cast(self._text, ctypes.c_void_p).value or 0

    def name_of(self, sequence: int) -> bytes:
        """The name of a record that it holds."""
        return ctypes.string_at(self.address + (sequence - self.first) * self.width, self.width)
