"""A made-up city: its bounds, and 43 neighbourhoods whose borders meet without a gap."""

from __future__ import annotations

import json
from random import Random

LONGITUDES = (-74.05, -73.70)
LATITUDES = (40.50, 41.00)
WEST, SOUTH = -74.02, 40.70
STEP = 0.02
COLUMNS, ROWS = 5, 9
NAMES = [
    f"{first} {second}"
    for first in ("Alder", "Birch", "Cedar", "Elm", "Hazel", "Linden", "Maple", "Rowan", "Willow")
    for second in ("Cross", "Gate", "Heights", "Market", "Side")
][:43]
FERRY_LINE = {"name": "Ferry Line", "polygon": [[-74.02, 40.70], [-73.92, 40.88]]}
"""A mistake in the map: two corners are no polygon."""

Point = tuple[float, float]


def neighbourhoods() -> list[dict[str, object]]:
    """Each neighbourhood's name and the corners of its polygon."""
    cells = [(column, row) for row in range(ROWS) for column in range(COLUMNS)]
    return [
        {"name": name, "polygon": border(column, row)}
        for name, (column, row) in zip(NAMES, cells, strict=False)
    ]


def border(column: int, row: int) -> list[Point]:
    """The corners of a cell and the middles of its sides, each shifted a little: neighbours share
    both, so that their borders meet.
    """
    ring = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1)]
    return [shifted(2 * column + x, 2 * row + y) for x, y in ring]


def shifted(x: int, y: int) -> Point:
    """A point of the grid of half steps, moved by at most a fifth of a step."""
    random = Random(f"corner {x} {y}")
    longitude = WEST + STEP * (x / 2 + random.uniform(-0.2, 0.2))
    latitude = SOUTH + STEP * (y / 2 + random.uniform(-0.2, 0.2))
    return round(longitude, 6), round(latitude, 6)


if __name__ == "__main__":
    for place in [*neighbourhoods(), FERRY_LINE]:
        print(json.dumps(place))
