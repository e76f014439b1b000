"""Made-up AIS reports of a fleet, the same for the same seed, with the defects of real ones.

As a producer's `function` (records:report), or from the command line:
python records.py --count 1000000 > reports.jsonl
"""

from __future__ import annotations

import argparse
import functools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
GAP = timedelta(milliseconds=100)
"""A report reaches the collecting server this long after the one before."""
SHIPS = 3000
PORTS = (
    "BERGEN", "OSLO", "STAVANGER", "TROMSO", "ALESUND", "BODO", "TRONDHEIM", "MONGSTAD", "NARVIK",
    "HAMMERFEST", "KIRKENES", "FLORO", "MOLDE", "HAUGESUND", "KRISTIANSAND", "LARVIK", "SVOLVAER",
    "ROTTERDAM", "HAMBURG", "ABERDEEN", "LERWICK", "GDANSK", "TORSHAVN", "",
)  # fmt: skip
"""The last one left the field empty."""
SHIP_TYPES = (30, 31, 36, 37, 51, 52, 60, 69, 70, 71, 79, 80, 81, 89, 90, 0)
MESSAGE_TYPES = {1: 55, 3: 10, 4: 4, 5: 18, 18: 8, 21: 2, 24: 3}
"""How often each type comes, of a hundred."""
DEFECTIVE, LATE, REPEATED = 0.02, 0.01, 0.02
SEED = os.environ.get("STREAMBED_SEED", "1")

Report = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Ship:
    """A ship on its voyage."""

    mmsi: int
    name: str
    ship_type: int
    destination: str


@functools.cache
def ship(number: int) -> Ship:
    """The n-th ship of the fleet; most go to a few ports."""
    random = Random(f"{SEED} ship {number}")
    port = PORTS[int(len(PORTS) * random.random() ** 2)]
    name = random.choice(("NORD", "SUND", "VEST", "HAV")) + random.choice(("STJERNE", "VIND"))
    return Ship(
        mmsi=random.choice((257, 258, 259, 219, 244, 211)) * 1_000_000 + number,
        name=name,
        ship_type=random.choice(SHIP_TYPES),
        destination=port,
    )


def report(number: int, _: Random) -> str | bytes:
    """The n-th report to arrive. Now and then it repeats the one before."""
    repeats = Random(f"{SEED} repeat {number}").random() < REPEATED
    return arrival(number - 1 if repeats and number else number)


def arrival(number: int) -> str | bytes:
    """A report as the collecting server passes it on: late or defective now and then."""
    random = Random(f"{SEED} report {number}")
    received = BEGIN + number * GAP
    late = random.random() < LATE
    seconds = random.uniform(300, 3600) if late else min(random.expovariate(0.2), 90)
    heard = received - timedelta(seconds=seconds)
    content = message(ship(int(SHIPS * random.random() ** 1.5)), random)
    content |= {"rxtime": shown(heard), "received": shown(received)}
    if random.random() < DEFECTIVE:
        return random.choice(DEFECTS)(content)
    return json.dumps(content)


def message(sender: Ship, random: Random) -> Report:
    """What a ship says: its voyage in type 5, where it is in most others."""
    kind = random.choices(list(MESSAGE_TYPES), MESSAGE_TYPES.values())[0]
    head: Report = {"class": "AIS", "device": "coast", "type": kind, "mmsi": sender.mmsi}
    if kind == 5:
        # A sender fills up its text of twenty characters with @ or blanks.
        padding = random.choice("@ ")
        voyage = {"shipname": sender.name, "shiptype": sender.ship_type}
        return head | voyage | {"destination": sender.destination.ljust(20, padding)}
    if kind == 24:
        return head | {"shipname": sender.name}
    place = {"lon": round(random.uniform(4, 31), 5), "lat": round(random.uniform(57, 71), 5)}
    return head | place | {"speed": round(random.uniform(0, 22), 1)}


def shown(moment: datetime) -> str:
    """A time as reports have it."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def cut_short(content: Report) -> str:
    """The connection ended in the middle."""
    return json.dumps(content)[:60]


def garbled(content: Report) -> bytes:
    """Not UTF-8."""
    return json.dumps(content).encode("utf-16")


def empty(content: Report) -> str:
    """Nothing at all."""
    return ""


def of_unknown_type(content: Report) -> str:
    """A message type that no standard has."""
    return json.dumps(content | {"type": 42})


def of_no_ship(content: Report) -> str:
    """A number that is too short."""
    return json.dumps(content | {"mmsi": 257})


def in_words(content: Report) -> str:
    """A word where a number belongs."""
    return json.dumps(content | {"mmsi": "HAVVIND"})


def without_time(content: Report) -> str:
    """Nobody knows when it was heard."""
    return json.dumps({name: value for name, value in content.items() if name != "rxtime"})


def from_the_future(content: Report) -> str:
    """A wrong clock; it would move the watermark beyond all other reports."""
    return json.dumps(content | {"rxtime": "2099-01-01T00:00:00.000Z"})


def without_ship_type(content: Report) -> str:
    """A voyage with a ship type that does not exist."""
    return json.dumps(content | {"type": 5, "shiptype": 700, "destination": "OSLO"})


def to_nowhere(content: Report) -> str:
    """A destination that no sender could transmit, with a statement for careless databases."""
    port = "'); drop table ships_by_destination; --"
    return json.dumps(content | {"type": 5, "shiptype": 70, "destination": port})


DEFECTS: list[Callable[[Report], str | bytes]] = [
    cut_short,
    garbled,
    empty,
    of_unknown_type,
    of_no_ship,
    in_words,
    without_time,
    from_the_future,
    without_ship_type,
    to_nowhere,
]


def main() -> None:
    """Print reports as they arrive."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=1000)
    for number in range(parser.parse_args().count):
        text = report(number, Random())
        print(text if isinstance(text, str) else text.decode(errors="replace"))


if __name__ == "__main__":
    main()
