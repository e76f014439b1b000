"""Generators: a few numbers describe many nodes and links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import Field

from streambed.declare.link import Link
from streambed.errors import Problem
from streambed.kinds.direction import Direction

Count = Annotated[int, Field(strict=True, ge=1)]
Ends = tuple[str, str]
LINKS_MAX = 100_000
NODES_MAX = 60_000


@dataclass(frozen=True, kw_only=True)
class Made:
    """What a generator made; `places` are latitudes and longitudes, `notes` are for the user."""

    switches: tuple[str, ...]
    hosts: tuple[str, ...]
    links: tuple[Link, ...]
    places: dict[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    in_parts: str = ""
    """Advice for the user if this network is not connected and no other link joins its parts."""


class Generator(Protocol):
    """Something that makes a network. It is declared under `topology.generate`."""

    @property
    def kind(self) -> str:
        """Its key in the table of generators."""

    def problems(self, base: Path) -> list[Problem]:
        """What is wrong with its values; keys relative to the generator, files to `base`."""

    def make(self, base: Path) -> Made:
        """Nodes and links. Call it only if `problems` is empty."""


class OfSwitches:
    """Base of generators that link switches and put the same number of hosts on each."""

    switches: int
    hosts: int
    link: Direction | None
    access: Direction | None

    def pairs(self) -> list[tuple[int, int]]:
        """Which switches are linked, counted from 0."""
        raise NotImplementedError

    def links_count(self) -> int:
        """How many links join switches, known before any is made."""
        return self.switches

    def problems(self, base: Path) -> list[Problem]:
        """Sizes have limits, and links are possible."""
        nodes = self.switches * (1 + self.hosts)
        links = self.links_count() + self.switches * self.hosts
        return too_large(nodes, links) + direction_problems(link=self.link, access=self.access)

    def make(self, base: Path) -> Made:
        """Switches s1, s2 …, then hosts h1, h2 …, switch by switch."""
        switches = numbered_names("s", self.switches)
        hosts = numbered_names("h", self.switches * self.hosts)
        trunk = [(switches[one], switches[other]) for one, other in self.pairs()]
        leaves = [(host, switches[at // self.hosts]) for at, host in enumerate(hosts)]
        return Made(
            switches=switches,
            hosts=hosts,
            links=(
                *links_between(trunk, self.link),
                *links_between(leaves, self.access or self.link),
            ),
        )


def numbered_names(prefix: str, count: int) -> tuple[str, ...]:
    """Names such as s1, s2 and s3."""
    return tuple(f"{prefix}{number}" for number in range(1, count + 1))


def links_between(pairs: Iterable[Ends], direction: Direction | None) -> Iterator[Link]:
    """A link for each pair of nodes, all with the same properties."""
    values = direction.given if direction else {}
    return (Link(ends=ends, **values) for ends in pairs)


def direction_problems(**directions: Direction | None) -> list[Problem]:
    """Impossible properties of links, by key."""
    wrong = []
    for key, direction in directions.items():
        (link,) = links_between([("a", "b")], direction)
        wrong += [replace(problem, key=f"{key}.{problem.key}") for problem in link.problems()]
    return wrong


def too_large(nodes: int, links: int) -> list[Problem]:
    """A problem if a generator would make too many nodes or links."""
    if nodes > NODES_MAX:
        says = f"this makes {nodes} nodes: at most {NODES_MAX} have an address"
        return [Problem(key="", says=says)]
    if links > LINKS_MAX:
        return [Problem(key="", says=f"this makes {links} links: at most {LINKS_MAX} are made")]
    return []


def connected_parts(pairs: Iterable[Ends]) -> list[set[str]]:
    """The connected parts of a network, in the order of their first link."""
    beside: dict[str, set[str]] = {}
    for one, other in pairs:
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)
    parts: list[set[str]] = []
    seen: set[str] = set()
    for start in beside:
        if start in seen:
            continue
        part: set[str] = set()
        ahead = [start]
        while ahead:
            node = ahead.pop()
            if node not in part:
                part.add(node)
                ahead += beside[node] - part
        parts.append(part)
        seen |= part
    return parts
