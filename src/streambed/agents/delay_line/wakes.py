"""How long it takes to be woken: tens of microseconds, more after a long sleep, and other on every machine. Timers teach it."""

from __future__ import annotations

FIRST_NS = 50_000
"""Believed until something was learned."""
LONGEST_NS = 300_000
"""A wake that took longer was not a wake but a wait for the processor."""
LEARN_SHARE = 8
CLASSES = 64


class Wakes:
    """The usual time of a wake, by the length of the sleep: one class for each power of two of nanoseconds."""

    def __init__(self) -> None:
        self._usual_ns = [FIRST_NS] * CLASSES
        self._learned = [False] * CLASSES

    def learn(self, slept_ns: int, late_ns: int) -> None:
        """A timer woke us so much too late. What holds for a sleep holds for longer ones too, until they teach better."""
        place = slept_ns.bit_length()
        usual_ns = self._usual_ns[place] + (min(late_ns, LONGEST_NS) - self._usual_ns[place]) // LEARN_SHARE
        self._learned[place] = True
        self._usual_ns[place] = usual_ns
        for longer in range(place + 1, CLASSES):
            if self._learned[longer]:
                return
            self._usual_ns[longer] = usual_ns

    def usual_ns(self, slept_ns: int) -> int:
        """How long a wake takes after such a sleep."""
        return self._usual_ns[slept_ns.bit_length()]
