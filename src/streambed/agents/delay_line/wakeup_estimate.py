"""Estimates of short latencies: until a sleeper runs, until a verdict has released a packet.

They are tens of microseconds, longer after a long sleep, and differ between machines; so they are
learned from measurements.
"""

from __future__ import annotations

LONGEST_NS = 300_000
"""Longer times are waits for the CPU and are capped."""
LEARN_SHARE = 8
CAUTION = 4
CLASSES = 64


class LatencyEstimate:
    """The usual duration of something after a sleep, by its length: one class for each power of two
    of nanoseconds.

    A cautious estimate rises faster than it falls, so that it is seldom too short.
    """

    def __init__(self, first_ns: int, *, cautious: bool = False) -> None:
        self._shares = LEARN_SHARE, LEARN_SHARE * CAUTION if cautious else LEARN_SHARE
        self._usual_ns = [first_ns] * CLASSES
        self._learned = [False] * CLASSES

    def learn(self, rest_ns: int, took_ns: int) -> None:
        """Add a measurement. It also holds for longer sleeps until they have their own."""
        place = rest_ns.bit_length()
        more_ns = min(took_ns, LONGEST_NS) - self._usual_ns[place]
        usual_ns = self._usual_ns[place] + more_ns // self._shares[more_ns < 0]
        self._learned[place] = True
        self._usual_ns[place] = usual_ns
        for longer in range(place + 1, CLASSES):
            if self._learned[longer]:
                return
            self._usual_ns[longer] = usual_ns

    def usual_ns(self, rest_ns: int) -> int:
        """The usual duration after a sleep of this length."""
        return self._usual_ns[rest_ns.bit_length()]
