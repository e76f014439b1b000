"""Places on Earth: how far apart they are, and how long light takes through fibre."""

from __future__ import annotations

import math

from streambed.errors import Problem
from streambed.units import Duration

Coordinates = tuple[float, float]
"""Latitude and longitude in degrees, north and east positive."""
RADIUS_KM = 6371.0088
FIBRE_KM_PER_S = 299_792.458 * 2 / 3
"""Light in fibre is a third slower than in vacuum."""


def distance_km(one: Coordinates, other: Coordinates) -> float:
    """The distance along the great circle (haversine formula)."""
    (north, east), (other_north, other_east) = (
        [math.radians(degrees) for degrees in place] for place in (one, other)
    )
    chord = (
        math.sin((other_north - north) / 2) ** 2
        + math.cos(north) * math.cos(other_north) * math.sin((other_east - east) / 2) ** 2
    )
    return 2 * RADIUS_KM * math.asin(math.sqrt(min(1.0, chord)))


def delay_between(
    one: Coordinates, other: Coordinates, *, detour: float, shortest: Duration
) -> Duration:
    """The delay through fibre, in whole microseconds; 0 if it is less than `shortest`."""
    delay = Duration(round(distance_km(one, other) * detour / FIBRE_KM_PER_S * 1e6) * 1000)
    return delay if delay >= shortest else Duration(0)


def place_problems(places: dict[str, Coordinates], key: str) -> list[Problem]:
    """Latitudes and longitudes that are not on Earth."""
    advice = "give a latitude of -90 to 90, then a longitude of -180 to 180"
    wrong = []
    for name, (north, east) in places.items():
        if not (abs(north) <= 90 and abs(east) <= 180):
            says = f"{north:g}, {east:g} is not on Earth: {advice}"
            wrong.append(Problem(key=f"{key}.{name}", says=says))
    return wrong
