"""Cities: a network over a map, whose delays follow from distances."""

from __future__ import annotations

import csv
import re
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from streambed.declare.earth import Coordinates, delay_between, distance_km, place_problems
from streambed.declare.generators.generator import (
    Ends,
    Made,
    connected_parts,
    direction_problems,
    links_between,
    too_large,
)
from streambed.declare.link import Link, NodeName
from streambed.errors import Problem, suggestion
from streambed.kinds.components.component import missing_file
from streambed.kinds.declaring import declared
from streambed.kinds.direction import Direction
from streambed.units import Duration

HEADING = ["name", "latitude", "longitude"]
NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,55}")


@declared
class Cities:
    """For each city a host of its name, on a switch such as paris-switch; switches are linked with
    delays by distance.
    """

    kind: Literal["cities"] = "cities"
    cities: dict[NodeName, tuple[float, float]] = Field(default_factory=dict)
    """Latitude and longitude of each city in degrees, north and east positive."""
    file: str = ""
    """Or a CSV file beside the declaration: a line "name,latitude,longitude", then one for each
    city.
    """
    pairs: tuple[tuple[NodeName, NodeName], ...] = ()
    """The cities that are linked."""
    nearest: Annotated[int, Field(strict=True, ge=1)] | None = None
    """Or: each city is linked with this many nearest ones. Without both, each is linked with each.
    """
    detour: Annotated[float, Field(ge=1)] = 1.0
    """How much longer cables are than the great circle."""
    shortest: Duration = Duration(100_000)
    """Links whose delay would be shorter have none."""
    link: Direction | None = None
    """What else each link between switches does."""
    access: Direction | None = None
    """What the link of each host does; default: nothing to packets."""

    def problems(self, base: Path) -> list[Problem]:
        """Check coordinates, links and connectivity."""
        if self.file and (missing := missing_file(self.file, base, "file")):
            return missing
        listed, wrong = _read_cities(base / self.file) if self.file else ({}, [])
        places = self.cities | listed
        wrong += place_problems(self.cities, "cities") + self._wrong_pairs(places)
        if len(places) < 2:
            says = f"there are {len(places)} cities: give two at least, here or in a `file`"
            wrong.append(Problem(key="cities", says=says))
        wrong += delay_problems(self.link)
        if wrong:
            return wrong
        return (
            self._connection_problems(places)
            + too_large(2 * len(places), len(self._linked_pairs(places)))
            + direction_problems(access=self.access)
        )

    def _wrong_pairs(self, places: dict[str, Coordinates]) -> list[Problem]:
        wrong: list[Problem] = []
        for at, pair in enumerate(self.pairs):
            for end, name in enumerate(pair):
                if name not in places:
                    says = f"there is no city '{name}'. {suggestion(name, places)}"
                    wrong.append(Problem(key=f"pairs.{at}.{end}", says=says))
        for at, (one, other) in enumerate(self.pairs):
            if one == other:
                wrong.append(Problem(key=f"pairs.{at}", says=f"'{one}' is linked to itself"))
        if self.pairs and self.nearest is not None:
            wrong.append(Problem(key="nearest", says="give either pairs or nearest, not both"))
        if self.nearest is not None and self.nearest >= len(places):
            others = f"each of {len(places)} cities has {len(places) - 1} others"
            wrong.append(Problem(key="nearest", says=f"{self.nearest} is not allowed: {others}"))
        return wrong

    def _connection_problems(self, places: dict[str, Coordinates]) -> list[Problem]:
        first = next(iter(places))
        reached = {first}
        for part in connected_parts(self._linked_pairs(places)):
            if first in part:
                reached = part
        missed = [name for name in places if name not in reached]
        if not missed:
            return []
        key, advice = "nearest", "give a larger number, or pairs"
        if self.pairs:
            key, advice = "pairs", "add a pair"
        apart = f"no link leads from '{first}' to {', '.join(missed[:8])}"
        return [Problem(key=key, says=f"the network is in parts: {apart}; {advice}")]

    def _linked_pairs(self, places: dict[str, Coordinates]) -> list[Ends]:
        if self.pairs:
            return list(self.pairs)
        if self.nearest is None:
            return list(combinations(places, 2))
        pairs: dict[frozenset[str], Ends] = {}
        for city, place in places.items():
            others = [
                (distance_km(place, there), name) for name, there in places.items() if name != city
            ]
            for _, name in sorted(others)[: self.nearest]:
                pairs.setdefault(frozenset((city, name)), (city, name))
        return list(pairs.values())

    def make(self, base: Path) -> Made:
        """A switch and a host for each city."""
        places = self.cities | (_read_cities(base / self.file)[0] if self.file else {})
        return on_the_map(
            places,
            self._linked_pairs(places),
            detour=self.detour,
            shortest=self.shortest,
            link=self.link,
            access=self.access,
        )


def delay_problems(link: Direction | None) -> list[Problem]:
    """Delays follow from distances, so none may be given."""
    forbidden = [key for key in ("delay", "samples") if link and getattr(link, key) is not None]
    says = "delays follow from distances here: leave it out, or lengthen them with `detour`"
    return [Problem(key=f"link.{key}", says=says) for key in forbidden]


def switch_of(city: str) -> str:
    """The name of a city's switch."""
    return f"{city}-switch"


def on_the_map(
    places: dict[str, Coordinates],
    pairs: list[Ends],
    *,
    detour: float,
    shortest: Duration,
    link: Direction | None,
    access: Direction | None,
) -> Made:
    """A host for each place, on its own switch, and links between switches whose delays follow
    from distances.
    """
    delays = {
        ends: delay_between(places[ends[0]], places[ends[1]], detour=detour, shortest=shortest)
        for ends in pairs
    }
    plain = link.given if link else {}
    trunk = [
        Link(ends=(switch_of(one), switch_of(other)), **plain | {"delay": delays[one, other]})
        for one, other in pairs
    ]
    leaves = links_between(((name, switch_of(name)) for name in places), access)
    return Made(
        switches=tuple(map(switch_of, places)),
        hosts=tuple(places),
        links=(*trunk, *leaves),
        places=dict(places),
    )


def _read_cities(path: Path) -> tuple[dict[str, Coordinates], list[Problem]]:
    """The cities of a file, and what is wrong with it."""
    cities: dict[str, Coordinates] = {}
    wrong: list[Problem] = []
    lines = path.read_text(errors="replace").splitlines()
    rows = list(csv.reader(lines, skipinitialspace=True))
    if not rows or rows[0] != HEADING:
        says = f"its first line should be {','.join(HEADING)}"
        return {}, [Problem(key="file", says=says, file=str(path), line=1, column=1)]
    for line, row in enumerate(rows[1:], 2):
        says = _wrong_row(row, cities)
        if says:
            wrong.append(Problem(key="file", says=says, file=str(path), line=line, column=1))
        elif row:
            name, north, east = row
            cities[name] = (float(north), float(east))
    return cities, wrong


def _wrong_row(row: list[str], earlier: dict[str, Coordinates]) -> str:
    if not row:
        return ""
    if len(row) != 3:
        return f"a city has three entries, and this line has {len(row)}"
    name, *numbers = row
    if not NAME.fullmatch(name):
        rule = "begin with a letter, continue with letters, digits or '-', 56 characters at most"
        return f"'{name}' cannot be the name of a host: {rule}"
    try:
        north, east = map(float, numbers)
    except ValueError:
        text = ", ".join(numbers)
        return f"'{text}' is not a latitude and a longitude: write two numbers in degrees"
    wrong = place_problems({name: (north, east)}, "")
    if wrong:
        return wrong[0].says
    return f"'{name}' is given twice" if name in earlier else ""
