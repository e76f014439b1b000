"""The exact answer, in plain Python: which reports cannot be used and why, and which ships the
others name, in whatever order they came.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from audits import Unusable

TARDY = timedelta(minutes=2)
WHOLE_NUMBERS = ("type", "mmsi", "shiptype")
TIMES = ("rxtime", "received")
DESTINATION = re.compile("[ -_]{0,20}")
KINDS = ("fishing", "tug", "leisure", "service", "passenger", "cargo", "tanker")
SHIP_TYPES = ((30, 30), (31, 32), (36, 37), (50, 59), (60, 69), (70, 79), (80, 89))

Key = tuple[str, str, str]
"""A minute, a destination and a kind of ship."""


@dataclass(frozen=True, kw_only=True)
class Voyage:
    """What a ship said of its voyage."""

    heard: datetime
    mmsi: int
    destination: str
    kind: str


def fields_of(value: bytes | None) -> dict[str, object]:
    """The fields of a report that have a value, if their types are right."""
    if not value:
        raise Unusable("empty")
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise Unusable("not UTF-8") from None
    try:
        fields = {name: of for name, of in json.loads(text).items() if of is not None}
        times = {name: datetime.fromisoformat(fields[name]) for name in TIMES if name in fields}
    except (ValueError, TypeError, AttributeError):
        raise Unusable("unreadable") from None
    numbers = all(type(fields.get(name, 0)) is int for name in WHOLE_NUMBERS)
    if not numbers or not isinstance(fields.get("destination", ""), str):
        raise Unusable("unreadable")
    return fields | times


def voyage_of(value: bytes | None) -> Voyage | None:
    """The voyage of a report of type 5; None for other types."""
    fields = fields_of(value)
    if not is_within(fields.get("type"), 1, 27):
        raise Unusable("unknown message type")
    if not is_within(fields.get("mmsi"), 100_000_000, 999_999_999):
        raise Unusable("not the number of a ship")
    heard, received = (fields.get(name) for name in TIMES)
    if not isinstance(heard, datetime) or not isinstance(received, datetime):
        raise Unusable("unknown time")
    if heard > received:
        raise Unusable("in the future")
    if heard < received - TARDY:
        raise Unusable("late")
    if fields["type"] != 5:
        return None
    if not is_within(fields.get("shiptype"), 0, 99):
        raise Unusable("unknown ship type")
    if not DESTINATION.fullmatch(str(fields.get("destination", "\n"))):
        raise Unusable("impossible destination")
    destination = str(fields["destination"]).partition("@")[0].strip() or "UNKNOWN"
    kind = kind_of(int(str(fields["shiptype"])))
    mmsi = int(str(fields["mmsi"]))
    return Voyage(heard=heard, mmsi=mmsi, destination=destination, kind=kind)


def is_within(number: object, first: int, last: int) -> bool:
    """Whether there is a number, and it is between two others."""
    return isinstance(number, int) and first <= number <= last


def kind_of(ship_type: int) -> str:
    """The kind of ship that a ship type belongs to."""
    for kind, (first, last) in zip(KINDS, SHIP_TYPES, strict=True):
        if first <= ship_type <= last:
            return kind
    return "other"


def ships_of(voyages: Iterable[Voyage]) -> dict[Key, list[int]]:
    """The ships of each minute, destination and kind, by their numbers."""
    ships: dict[Key, set[int]] = defaultdict(set)
    for voyage in voyages:
        minute = voyage.heard.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
        ships[minute, voyage.destination, voyage.kind].add(voyage.mmsi)
    return {key: sorted(mmsis) for key, mmsis in ships.items()}
