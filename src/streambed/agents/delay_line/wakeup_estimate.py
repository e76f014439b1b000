"""What usually passes until something is done: until a sleeper runs, until a verdict has let a
packet go.

Tens of microseconds, more after a long rest, and other on every machine; so it is learned by doing.
"""

from __future__ import annotations

LONGEST_NS = 300_000
"""What took longer was a wait for the processor."""
LEARN_SHARE = 8
CAUTION = 4
CLASSES = 64


class Habit:
    """How long something usually takes, by the length of the rest before it: one class for each
    power of two of nanoseconds.

    A cautious habit learns sooner that it takes longer than that it takes less, so that it is
    seldom too short.
    """

    def __init__(self, first_ns: int, *, cautious: bool = False) -> None:
        self._shares = LEARN_SHARE, LEARN_SHARE * CAUTION if cautious else LEARN_SHARE
        self._usual_ns = [first_ns] * CLASSES
        self._learned = [False] * CLASSES

    def learn(self, rest_ns: int, took_ns: int) -> None:
        """It took so long this time. What holds for a rest holds for longer ones too, until they
        teach better.
        """
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
        """How long it takes after such a rest."""
        return self._usual_ns[rest_ns.bit_length()]
