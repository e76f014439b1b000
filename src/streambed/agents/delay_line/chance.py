"""What is left to chance: which packets are lost, how long the others take, which are mangled,
doubled or sent at once.
"""

from __future__ import annotations

import random
from typing import Any

TABLE_UNIT = 8192


class Chance:
    """Draws for one queue. The same seed draws the same."""

    def __init__(self, seed: str) -> None:
        self._draw = random.Random(seed).random
        self._is_bad = False

    def happens(self, share: float) -> bool:
        """Whether it befalls this packet."""
        return share > 0 and self._draw() < share

    def loses(self, shape: dict[str, Any]) -> bool:
        """Whether this packet is lost: in a burst, as netem does it, or by itself. Whoever loses
        all has been cut.
        """
        if not shape["enter"] or shape["loss"] == 1:
            return self.happens(shape["loss"])
        lost = self.happens(shape["bad"] if self._is_bad else shape["good"])
        if self.happens(shape["leave"] if self._is_bad else shape["enter"]):
            self._is_bad = not self._is_bad
        return lost

    def delay_ns(self, shape: dict[str, Any]) -> int:
        """How long this packet takes."""
        delay_ns: int = shape["delay_ns"]
        if not shape["jitter_ns"]:
            return delay_ns
        table = shape["table"]
        deviation: float = (
            table[int(self._draw() * len(table))] / TABLE_UNIT if table else 2 * self._draw() - 1
        )
        return max(0, delay_ns + int(deviation * shape["jitter_ns"]))

    def turn_over_a_bit(self, packet: bytes) -> bytes:
        """The packet with one bit changed behind its IP header: a change in there would send it
        elsewhere, not fail a checksum.
        """
        start = 4 * (packet[0] & 0x0F)
        if start >= len(packet):
            return packet
        place = start + int(self._draw() * (len(packet) - start))
        mangled = bytearray(packet)
        mangled[place] ^= 1 << int(self._draw() * 8)
        return bytes(mangled)
