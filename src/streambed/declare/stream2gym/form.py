"""A form: settings, keys and values that another program understands, each with its place, read one
by one with a type.

Keys that were never read are reported at the end, so that nothing is dropped silently.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from streambed.declare.stream2gym.draft import Draft
from streambed.declare.yaml.source import Position


class Form:
    """The attributes of a node or an edge, or the content of a file that one names. `noun` says
    whose settings these are.
    """

    def __init__(
        self,
        draft: Draft,
        values: Mapping[str, Any],
        places: Mapping[str, Position],
        *,
        noun: str,
        node: str,
        place: Position,
    ) -> None:
        self.draft = draft
        self.noun = noun
        self.node = node
        self.place = place
        self._values = {
            key: value for key, value in values.items() if value is not None and value != ""
        }
        self._places = places
        self._asked: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def at(self, key: str) -> Position:
        """The position of a key, or else of the whole form."""
        return self._places.get(key, self.place)

    def text(self, key: str, default: str = "") -> str:
        """Text, without blanks around it."""
        self._asked.add(key)
        value = self._values.get(key, default)
        if isinstance(value, (dict, list)):
            self.wrong(key, f"'{value}' is not text")
            return default
        return str(value).strip()

    def needed(self, key: str, because: str) -> str:
        """Required text; a problem if it is missing."""
        if key not in self:
            self.wrong(key, f"is missing: {because}")
        return self.text(key)

    def number(self, key: str, default: int, *, least: int = 0, most: int | None = None) -> int:
        """A whole number."""
        value = self.real(key, default, least=least, most=most)
        if value != int(value):
            self.wrong(key, f"{value:g} is not a whole number")
        return int(value)

    def real(
        self, key: str, default: float, *, least: float = 0, most: float | None = None
    ) -> float:
        """A number."""
        text = self.text(key, str(default))
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isfinite(value) and value >= least and (most is None or value <= most):
            return value
        range_text = (
            f"of at least {least:.15g}" if most is None else f"from {least:.15g} to {most:.15g}"
        )
        self.wrong(key, f"'{text}' is not a number {range_text}")
        return default

    def flag(self, key: str) -> bool:
        """1 or true for yes; 0, false or nothing for no."""
        text = self.text(key, "0").lower()
        if text not in ("0", "1", "true", "false"):
            self.wrong(key, f"'{text}' is neither 1 nor 0")
        return text in ("1", "true")

    def wrong(self, key: str, says: str) -> None:
        """Report a wrong value."""
        self.draft.wrong(f"{self.node}: {key}" if self.node else key, says, self.at(key))

    def ignore(self, key: str, why: str) -> None:
        """Note a key that has no effect, if it is given."""
        self._asked.add(key)
        if key in self:
            self.draft.note(f"{key} {why}", self.node)

    def finish(self, known: Iterable[str] = ()) -> None:
        """Report keys that were never read: known keys without a meaning here, and unknown ones."""
        for key in self._values:
            if key in self._asked:
                continue
            if key in known:
                self.draft.note(f"{self.noun}: {key} has no effect here", self.node)
            else:
                self.draft.unknown(f"{self.noun}: the key", key, known, self.node)
