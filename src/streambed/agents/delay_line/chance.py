"""Random draws: which packets are lost, delayed, corrupted, duplicated or sent at once."""

from __future__ import annotations

import random
from typing import Any

TABLE_UNIT = 8192


class Chance:
    """The draws of one queue, the same for the same seed."""

    def __init__(self, seed: str) -> None:
        self._draw = random.Random(seed).random
        self._is_bad = False

    def happens(self, share: float) -> bool:
        """True with probability `share`."""
        return share > 0 and self._draw() < share

    def loses(self, shape: dict[str, Any]) -> bool:
        """Whether this packet is lost: in a burst, as in netem, or independently. A loss of 1 means
        that the link is cut.
        """
        if not shape["enter"] or shape["loss"] == 1:
            return self.happens(shape["loss"])
        lost = self.happens(shape["bad"] if self._is_bad else shape["good"])
        if self.happens(shape["leave"] if self._is_bad else shape["enter"]):
            self._is_bad = not self._is_bad
        return lost

    def delay_ns(self, shape: dict[str, Any]) -> int:
        """The delay of this packet."""
        delay_ns: int = shape["delay_ns"]
        if not shape["jitter_ns"]:
            return delay_ns
        table = shape["table"]
        deviation: float = (
            table[int(self._draw() * len(table))] / TABLE_UNIT if table else 2 * self._draw() - 1
        )
        return max(0, delay_ns + int(deviation * shape["jitter_ns"]))

    def flip_a_bit(self, packet: bytes) -> bytes:
        """Flip one bit after the IP header: a change in the header could redirect the packet."""
        start = 4 * (packet[0] & 0x0F)
        if start >= len(packet):
            return packet
        position = start + int(self._draw() * (len(packet) - start))
        corrupted = bytearray(packet)
        corrupted[position] ^= 1 << int(self._draw() * 8)
        return bytes(corrupted)
