"""The exact answer, in plain Python: which records cannot be used and why, and the average tips of
the others, in whatever order they came.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation

from audits import Unusable
from city import LATITUDES, LONGITUDES

TARDY = timedelta(minutes=15)
WATERMARK = timedelta(minutes=30)
LONGEST_RIDE = timedelta(hours=2)
LENGTH, SLIDE = timedelta(minutes=30), timedelta(minutes=10)
HIGHEST_AMOUNT = 10_000

Point = tuple[float, float]
Key = tuple[str, str]
"""The start of a half hour, and a neighbourhood."""


@dataclass(frozen=True, kw_only=True)
class Ride:
    """A ride that ended."""

    ride: int
    end: datetime
    drop_off: Point


@dataclass(frozen=True, kw_only=True)
class Fare:
    """What was paid for a ride."""

    ride: int
    start: datetime
    tip: Decimal


@dataclass(frozen=True, kw_only=True)
class Average:
    """The rides of a half hour to a neighbourhood, and their tips in all."""

    rides: int
    tips: Decimal


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What must come out."""

    averages: dict[Key, Average]
    final_before: datetime
    """Averages of half hours that ended by then must be there; later ones may still be open."""


def fields_of(value: bytes | None, width: int) -> list[str]:
    """The fields of a row."""
    if not value:
        raise Unusable("empty")
    try:
        fields = value.decode().split(",")
    except UnicodeDecodeError:
        raise Unusable("not UTF-8") from None
    if len(fields) != width:
        raise Unusable("wrong number of fields")
    return fields


def moment(text: str) -> datetime:
    """A time, in UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)


def check_arrival(time: datetime, received: datetime) -> None:
    """Refuse what is in the future, and what comes late."""
    if time > received:
        raise Unusable("in the future")
    if time < received - TARDY:
        raise Unusable("late")


def ride_of(value: bytes | None, received: datetime) -> Ride | None:
    """The ride of a record that says that it ended; None for one that says that it started."""
    fields = fields_of(value, 11)
    try:
        end, start = moment(fields[2]), moment(fields[3])
        points = [(float(fields[at]), float(fields[at + 1])) for at in (4, 6)]
        number, *_ = (int(fields[at]) for at in (0, 8, 9, 10))
    except ValueError:
        raise Unusable("unreadable field") from None
    if fields[1] not in ("START", "END"):
        raise Unusable("neither START nor END")
    ended = fields[1] == "END"
    check_arrival(end if ended else start, received)
    if not all(map(in_city, points)):
        raise Unusable("outside the city")
    if ended and not start < end <= start + LONGEST_RIDE:
        raise Unusable("impossible duration")
    return Ride(ride=number, end=end, drop_off=points[1]) if ended else None


def in_city(point: Point) -> bool:
    """Whether a point is within the city's bounds."""
    longitude, latitude = point
    east_west = LONGITUDES[0] <= longitude <= LONGITUDES[1]
    return east_west and LATITUDES[0] <= latitude <= LATITUDES[1]


def fare_of(value: bytes | None, received: datetime) -> Fare:
    """The fare of a record."""
    fields = fields_of(value, 8)
    try:
        number, *_ = (int(fields[at]) for at in (0, 1, 2))
        start = moment(fields[3])
        amounts = [Decimal(fields[at]) for at in (5, 6, 7)]
    except (ValueError, InvalidOperation):
        raise Unusable("unreadable field") from None
    check_arrival(start, received)
    if min(amounts) < 0:
        raise Unusable("negative amount")
    if max(amounts) > HIGHEST_AMOUNT:
        raise Unusable("impossible amount")
    return Fare(ride=number, start=start, tip=amounts[0])


def neighbourhoods_in(lines: Iterable[str]) -> dict[str, list[Point]]:
    """The polygons of a map, without those that have no inside."""
    places = [json.loads(line) for line in lines]
    return {place["name"]: place["polygon"] for place in places if len(place["polygon"]) > 2}


def neighbourhood_of(point: Point, places: dict[str, list[Point]]) -> str:
    """The neighbourhood around a point; Other if none is."""
    return next((name for name, polygon in places.items() if inside(point, polygon)), "Other")


def inside(point: Point, polygon: list[Point]) -> bool:
    """Whether a ray from the point to the east crosses an odd number of edges."""
    longitude, latitude = point
    crossings = 0
    for (x1, y1), (x2, y2) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        spans = (y1 > latitude) != (y2 > latitude)
        crossings += spans and longitude < x1 + (latitude - y1) * (x2 - x1) / (y2 - y1)
    return crossings % 2 == 1


def half_hours_of(end: datetime) -> list[str]:
    """The starts of the three half hours that a time lies in."""
    newest = end - (end - datetime.min.replace(tzinfo=UTC)) % SLIDE
    starts = [newest - SLIDE * back for back in range(LENGTH // SLIDE)]
    return [start.strftime("%Y-%m-%d %H:%M") for start in starts]


def answer_of(rides: list[Ride], fares: list[Fare], places: dict[str, list[Point]]) -> Answer:
    """The average tips; a ride or fare that came twice counts once."""
    fares_by_ride: dict[int, list[Fare]] = defaultdict(list)
    for fare in {(fare.ride, fare.start): fare for fare in fares}.values():
        fares_by_ride[fare.ride].append(fare)
    tips: dict[Key, list[Decimal]] = defaultdict(list)
    for ride in {(ride.ride, ride.end): ride for ride in rides}.values():
        neighbourhood = neighbourhood_of(ride.drop_off, places)
        for fare in fares_by_ride[ride.ride]:
            if fare.start < ride.end <= fare.start + LONGEST_RIDE:
                for start in half_hours_of(ride.end):
                    tips[start, neighbourhood].append(fare.tip)
    latest = min(max(ride.end for ride in rides), max(fare.start for fare in fares))
    return Answer(
        averages={
            key: Average(rides=len(amounts), tips=sum(amounts, Decimal(0)))
            for key, amounts in tips.items()
        },
        final_before=latest - WATERMARK - LONGEST_RIDE,
    )
