"""Comparing what a job made with the exact answer: which records cannot be used, and whether each
of them has its dead letter.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from topics import Record

Read = TypeVar("Read")
SHOWN = 5
"""How many differences are printed."""


class Unusable(Exception):
    """A record that breaks a rule; the text is the reason."""


def usable(
    records: list[Record], read: Callable[[Record], Read], reasons: dict[str, str]
) -> list[Read]:
    """What the records say; the reasons of those that break a rule are noted by their places."""
    usable_ones = []
    for record in records:
        try:
            usable_ones.append(read(record))
        except Unusable as reason:
            reasons[record.place] = str(reason)
    return usable_ones


def wrong_letters(reasons: dict[str, str], letters: list[Record]) -> list[str]:
    """Letters that are missing, that name another reason, or that nobody expected. One that was
    written twice has the same key twice.
    """
    said = {
        (letter.key or b"").decode(): json.loads(letter.value or b"{}").get("reason")
        for letter in letters
    }
    return [
        f"{place}: the letter says {said.get(place)}, expected {reasons.get(place)}"
        for place in sorted(said.keys() | reasons.keys())
        if said.get(place) != reasons.get(place)
    ]


def finish(differences: list[str], compared: str, reasons: dict[str, str]) -> None:
    """Print what was found; the last line is the verdict. Ends with status 1 on any difference."""
    for difference in differences[:SHOWN]:
        print(difference)
    by_reason = Counter(reasons.values()).most_common()
    letters = ", ".join(f"{count} {reason}" for reason, count in by_reason)
    print(f"{len(differences)} differences in {compared}; {len(reasons)} dead letters: {letters}")
    sys.exit(bool(differences))
