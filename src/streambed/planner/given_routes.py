"""Ways that are given by hand: each is the list of its nodes, from a node to a host, through
switches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from streambed.errors import Problem, suggestion

if TYPE_CHECKING:
    from streambed.declare.link import Link

Path = tuple[str, ...]


def route_problems(
    routes: Sequence[Path], links: Sequence[Link], switches: Collection[str]
) -> Iterator[Problem]:
    """All that is wrong with them; keys relative to the topology."""
    joined = {ends for link in links for ends in (link.ends, link.ends[::-1])}
    nodes = {name for link in links for name in link.ends}
    taken: dict[tuple[str, str], tuple[str, int]] = {}
    for at, path in enumerate(routes):
        if strangers := [place for place, name in enumerate(path) if name not in nodes]:
            name = path[strangers[0]]
            yield Problem(
                key=f"routes.{at}.{strangers[0]}",
                says=f"there is no node '{name}'. {suggestion(name, nodes)}",
            )
            continue
        wrong = next(_wrong_steps(path, joined, switches), None)
        if wrong:
            yield Problem(key=f"routes.{at}.{wrong[0]}", says=wrong[1])
            continue
        for place, (node, near) in enumerate(pairwise(path)):
            other, earlier = taken.setdefault((node, path[-1]), (near, at))
            if other != near:
                says = (
                    f"'{node}' sends what is for '{path[-1]}' to '{other}' by route {earlier}, but "
                    f"to '{near}' by this one: "
                    "packets are sent on by their destination alone, so ways to one host may join "
                    "but not part"
                )
                yield Problem(key=f"routes.{at}.{place}", says=says)
                break


def _wrong_steps(
    path: Path, joined: set[tuple[str, str]], switches: Collection[str]
) -> Iterator[tuple[int, str]]:
    if path[-1] in switches:
        yield len(path) - 1, f"'{path[-1]}' is a switch: a way ends at a host"
    for place, name in enumerate(path):
        if name in path[:place]:
            yield place, f"the way goes in a circle: '{name}' is on it twice"
        if 0 < place < len(path) - 1 and name not in switches:
            yield place, f"'{name}' is a host: packets pass through switches only"
        if place and (path[place - 1], name) not in joined:
            yield place, f"no link joins '{path[place - 1]}' and '{name}'"
