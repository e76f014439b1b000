"""Check routes given by hand: each is a list of nodes that leads to a host through switches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from streambed.errors import Problem, suggestion

if TYPE_CHECKING:
    from streambed.declare.link import Link

Path = tuple[str, ...]
NextHops = dict[tuple[str, str], tuple[str, int]]
"""By node and destination: the next node, and the number of the route that says so."""


def route_problems(
    routes: Sequence[Path], links: Sequence[Link], switches: Collection[str]
) -> Iterator[Problem]:
    """The first problem of each route; keys relative to the topology."""
    linked = {ends for link in links for ends in (link.ends, link.ends[::-1])}
    nodes = {name for link in links for name in link.ends}
    next_hops: NextHops = {}
    for number, path in enumerate(routes):
        wrong = next(_unknown_nodes(path, nodes), None)
        wrong = wrong or next(_wrong_steps(path, linked, switches), None)
        wrong = wrong or next(_conflicts(path, number, next_hops), None)
        if wrong:
            index, says = wrong
            yield Problem(key=f"routes.{number}.{index}", says=says)


def _unknown_nodes(path: Path, nodes: set[str]) -> Iterator[tuple[int, str]]:
    for index, name in enumerate(path):
        if name not in nodes:
            yield index, f"there is no node '{name}'. {suggestion(name, nodes)}"


def _wrong_steps(
    path: Path, linked: set[tuple[str, str]], switches: Collection[str]
) -> Iterator[tuple[int, str]]:
    if path[-1] in switches:
        yield len(path) - 1, f"'{path[-1]}' is a switch: a way ends at a host"
    for index, name in enumerate(path):
        if name in path[:index]:
            yield index, f"the way goes in a circle: '{name}' is on it twice"
        if 0 < index < len(path) - 1 and name not in switches:
            yield index, f"'{name}' is a host: packets pass through switches only"
        if index and (path[index - 1], name) not in linked:
            yield index, f"no link joins '{path[index - 1]}' and '{name}'"


def _conflicts(path: Path, number: int, next_hops: NextHops) -> Iterator[tuple[int, str]]:
    """Steps that contradict an earlier route to the same host; `next_hops` gets the others."""
    host = path[-1]
    for index, (node, near) in enumerate(pairwise(path)):
        other, earlier = next_hops.setdefault((node, host), (near, number))
        if other != near:
            yield (
                index,
                f"'{node}' sends what is for '{host}' to '{other}' by route {earlier}, but to "
                f"'{near}' by this one: packets are sent on by their destination alone, so ways "
                "to one host may join but not part",
            )
