"""Made-up taxi rides and fares, the same for the same seed, with the defects of real ones.

As a producer's `function` (records:ride, records:fare), or from the command line:
python records.py rides --count 1000000 > rides.csv
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from city import LATITUDES, LONGITUDES, NAMES, SOUTH, STEP, WEST

FIRST_START = datetime(2013, 1, 1, tzinfo=UTC)
GAP = timedelta(seconds=6)
"""A ride begins this long after the one before."""
LONGEST = timedelta(hours=2)
DEFECTIVE, LATE, REPEATED = 0.02, 0.01, 0.01
SEED = os.environ.get("STREAMBED_SEED", "1")

Fields = list[str]


@dataclass(frozen=True, kw_only=True)
class Trip:
    """What really happened."""

    number: int
    start: datetime
    end: datetime
    pick_up: tuple[str, str]
    drop_off: tuple[str, str]
    taxi: int
    driver: int
    payment: str
    tip: str
    fare: str


@dataclass(frozen=True, order=True)
class Arrival:
    """A row, and when it reached the collecting server."""

    received: datetime
    trip: int
    copy: int
    row: bytes


def trip(number: int) -> Trip:
    """The n-th trip: a few neighbourhoods get most drop-offs, most rides are short, and only card
    payments show a tip.
    """
    random = Random(f"{SEED} trip {number}")
    start = FIRST_START + number * GAP
    minutes = min(random.lognormvariate(2.4, 0.7), 115)
    fare = 3 + minutes * random.uniform(0.6, 1.4)
    payment = random.choices(("CRD", "CSH"), (6, 4))[0]
    tip = fare * random.choice((0.1, 0.15, 0.2, 0.2, 0.25)) if payment == "CRD" else 0
    taxi = random.randrange(13_000)
    return Trip(
        number=number,
        start=start,
        end=start + timedelta(seconds=round(60 * minutes)),
        pick_up=place(random),
        drop_off=place(random),
        taxi=2_013_000_000 + taxi,
        driver=2_013_000_000 + 2 * taxi + random.randrange(2),
        payment=payment,
        tip=f"{tip:.2f}",
        fare=f"{fare + tip:.2f}",
    )


def place(random: Random) -> tuple[str, str]:
    """A point near the middle of a popular neighbourhood, sometimes anywhere in the city."""
    if random.random() < 0.1:
        return f"{random.uniform(*LONGITUDES):.6f}", f"{random.uniform(*LATITUDES):.6f}"
    row, column = divmod(int(len(NAMES) * random.random() ** 2), 5)
    longitude = WEST + STEP * (column + 0.5) + random.gauss(0, STEP / 4)
    latitude = SOUTH + STEP * (row + 0.5) + random.gauss(0, STEP / 4)
    return f"{longitude:.6f}", f"{latitude:.6f}"


def shown(moment: datetime) -> str:
    """A time as rows have it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def ride_events(ride: Trip) -> list[tuple[datetime, Fields]]:
    """A ride is reported when it starts, without an end yet, and when it ends."""
    return [
        (ride.start, ride_fields(ride, "START", "1970-01-01T00:00:00Z")),
        (ride.end, ride_fields(ride, "END", shown(ride.end))),
    ]


def ride_fields(ride: Trip, event: str, end: str) -> Fields:
    """The eleven fields of a ride's report."""
    times = [end, shown(ride.start)]
    people = [str(1 + ride.number % 4), str(ride.taxi), str(ride.driver)]
    return [str(ride.number), event, *times, *ride.pick_up, *ride.drop_off, *people]


def fare_events(ride: Trip) -> list[tuple[datetime, Fields]]:
    """A fare is reported with the time at which its ride began."""
    people = [str(ride.taxi), str(ride.driver)]
    amounts = [ride.payment, ride.tip, "0.00", ride.fare]
    return [(ride.start, [str(ride.number), *people, shown(ride.start), *amounts])]


def cut_short(fields: Fields) -> Fields:
    """Too few fields."""
    return fields[:-3]


def doubled(fields: Fields) -> Fields:
    """Two rows in one."""
    return fields + fields


def unreadable(fields: Fields) -> Fields:
    """Neither a number nor a time."""
    return [fields[0], *["n/a"] * (len(fields) - 1)]


def from_the_future(fields: Fields) -> Fields:
    """A wrong clock; it would move the watermark beyond all other records."""
    return [field.replace("2013-", "2099-") for field in fields]


def garbled(fields: Fields) -> bytes:
    """Not UTF-8."""
    return ",".join(fields).encode("utf-16")


def empty(fields: Fields) -> bytes:
    """Nothing at all."""
    return b""


def without_position(fields: Fields) -> Fields:
    """The receiver had no satellite."""
    return [*fields[:4], "0.0", "0.0", "0.0", "0.0", *fields[8:]]


def never_ending(fields: Fields) -> Fields:
    """The meter was forgotten for a day."""
    began = datetime.fromisoformat(fields[3]) - timedelta(days=1)
    return [*fields[:3], shown(began), *fields[4:]]


def without_event(fields: Fields) -> Fields:
    """Neither a start nor an end."""
    return [fields[0], "PAUSE", *fields[2:]]


def negative(fields: Fields) -> Fields:
    """A tip below zero."""
    return [*fields[:5], "-1.00", *fields[6:]]


def unpayable(fields: Fields) -> Fields:
    """An amount that no fare reaches."""
    return [*fields[:5], "99999999.00", *fields[6:]]


Defect = Callable[[Fields], Fields | bytes]
ANY_DEFECT: list[Defect] = [cut_short, doubled, unreadable, from_the_future, garbled, empty]
RIDE_DEFECTS: list[Defect] = [*ANY_DEFECT, without_position, never_ending, without_event]
FARE_DEFECTS: list[Defect] = [*ANY_DEFECT, negative, unpayable]


def arrivals(
    events: Callable[[Trip], list[tuple[datetime, Fields]]], defects: list[Defect]
) -> Iterator[Arrival]:
    """All rows in the order in which they reach the collecting server; it never ends."""
    on_the_way: list[Arrival] = []
    for number in itertools.count():
        happened = trip(number)
        # Nothing of this trip or of a later one can arrive before it starts.
        while on_the_way and on_the_way[0].received < happened.start:
            yield heapq.heappop(on_the_way)
        for moment, fields in events(happened):
            random = Random(f"{SEED} report {number} {fields[1]}")
            for arrival in reports(number, moment, fields, defects, random):
                heapq.heappush(on_the_way, arrival)


def reports(
    number: int, moment: datetime, fields: Fields, defects: list[Defect], random: Random
) -> Iterator[Arrival]:
    """A row on its way: late, defective or repeated now and then."""
    late = random.random() < LATE
    minutes = random.uniform(40, 180) if late else min(random.expovariate(1), 10)
    received = moment + timedelta(minutes=minutes)
    row = random.choice(defects)(fields) if random.random() < DEFECTIVE else fields
    text = row if isinstance(row, bytes) else ",".join(row).encode()
    yield Arrival(received, number, 0, text)
    if random.random() < REPEATED:
        yield Arrival(received + timedelta(minutes=1), number, 1, text)


class Numbered:
    """The n-th arrival. Quick when asked in order, as producers do."""

    def __init__(self, begin: Callable[[], Iterator[Arrival]]) -> None:
        self._begin = begin
        self._arrivals, self._next = begin(), 0

    def __call__(self, number: int, _: Random) -> dict[str, object]:
        """The record as a producer sends it."""
        if number < self._next:
            self._arrivals, self._next = self._begin(), 0
        arrival = next(itertools.islice(self._arrivals, number - self._next, None))
        self._next = number + 1
        received = arrival.received.isoformat(timespec="milliseconds")
        return {"value": arrival.row, "headers": {"received": received}}


STREAMS = {"rides": (ride_events, RIDE_DEFECTS), "fares": (fare_events, FARE_DEFECTS)}
ride = Numbered(lambda: arrivals(*STREAMS["rides"]))
fare = Numbered(lambda: arrivals(*STREAMS["fares"]))


def main() -> None:
    """Print rows as they arrive."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("stream", choices=STREAMS)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    for arrival in itertools.islice(arrivals(*STREAMS[options.stream]), options.count):
        print(arrival.row.decode(errors="replace"))


if __name__ == "__main__":
    main()
