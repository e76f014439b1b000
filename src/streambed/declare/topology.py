"""The network of an experiment: hosts, switches that route between them, and links with their
properties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from ipaddress import IPv4Address
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from streambed.declare.earth import place_problems
from streambed.declare.generators import GENERATORS
from streambed.declare.generators.generator import NODES_MAX
from streambed.declare.link import Link, NodeName
from streambed.errors import Problem, suggestion
from streambed.kinds.components.limits import MEMORY_LEAST
from streambed.kinds.declaring import declared
from streambed.kinds.faults.of_links import LinkEnds
from streambed.planner.given_routes import route_problems
from streambed.planner.nodes import SWITCHES_NETWORK
from streambed.units import Duration, Share, Size

RESERVED_NODES = ("localhost", "run", "self")
"""Switches have addresses that begin so; no host has."""

if TYPE_CHECKING:
    from streambed.declare.generators.generator import Generator
else:
    Generator = Annotated[reduce(or_, GENERATORS.values()), Field(discriminator="kind")]

RoutingBy = Literal["least_delay", "fewest_hops", "widest", "multipath", "by_hand"]


def _unless_never(found: Any) -> Any:
    return None if found == "never" else found


@declared
class Topology:
    """Nodes and the links between them. Whatever a link ends at and is not a switch is a host."""

    generate: Generator | None = None
    """A network by a few numbers; what is given by hand is added to it."""
    graphml: str = ""
    """Or a network from a GraphML file with coordinates: the same as `generate: {kind: graphml,
    file: …}`.
    """
    switches: tuple[NodeName, ...] = ()
    """Nodes that pass packets on and run nothing."""
    hosts: tuple[NodeName, ...] = ()
    """Hosts that should come first, or the only node of a network without links; others need not be
    named here.
    """
    addresses: dict[NodeName, str] = Field(default_factory=dict)
    """Addresses of hosts, for programs that expect certain ones; others get 10.0.0.1 and on, in
    order of mention.
    """
    places: dict[NodeName, tuple[float, float]] = Field(default_factory=dict)
    """Latitude and longitude of nodes, to draw them on a map."""
    cpu: dict[NodeName, Share] = Field(default_factory=dict)
    """How much of the whole machine, all cores together, the processes of a host may use; others
    may use all of it.
    """
    memory: dict[NodeName, Size] = Field(default_factory=dict)
    """How much memory the processes of a host may use, all together; others may use all there is.
    """
    links: tuple[Link, ...] = ()
    """The links. There may be loops, hosts with several links, and several links between two nodes.
    """
    routing: RoutingBy = "least_delay"
    """Which ways packets take."""
    routes: tuple[Annotated[tuple[NodeName, ...], Field(min_length=2)], ...] = ()
    """Ways by hand, each as the list of its nodes; they come before what `routing` says."""
    reroute: Annotated[Duration | None, BeforeValidator(_unless_never)] = None
    """How long after a link failed, or came back, packets take other ways; never, if it is not
    given.
    """

    def mentions(self) -> list[tuple[str, str]]:
        """The key and the name of every mention of a node, in the order of the declaration."""
        listed = [
            (f"{key}.{at}", name)
            for key in ("hosts", "switches")
            for at, name in enumerate(getattr(self, key))
        ]
        return listed + [
            (f"links.{at}.ends.{end}", name)
            for at, link in enumerate(self.links)
            for end, name in enumerate(link.ends)
        ]

    def nodes(self) -> list[str]:
        """All nodes in order of first mention."""
        return list(dict.fromkeys(name for _, name in self.mentions()))

    def host_names(self) -> list[str]:
        """All hosts in order of first mention."""
        switches = set(self.switches)
        return [name for name in self.nodes() if name not in switches]

    def ends_by_name(self) -> dict[str, LinkEnds]:
        """The ends of every link by a name of its own: the given one, or its ends, numbered where
        two nodes have several.
        """
        found: dict[str, LinkEnds] = {}
        counts: Counter[frozenset[str]] = Counter()
        for link in self.links:
            counts[frozenset(link.ends)] += 1
            number = counts[frozenset(link.ends)]
            by_ends = " – ".join(link.ends) + (f" ({number})" if number > 1 else "")
            found[link.name or by_ends] = LinkEnds(ends=link.ends, named=bool(link.name))
        return found

    def problems(self) -> list[Problem]:
        """What is wrong with the topology; keys relative to it."""
        wrong: list[Problem] = []
        for at, link in enumerate(self.links):
            for problem in link.problems():
                wrong.append(replace(problem, key=f"links.{at}.{problem.key}"))
        wrong += _named_twice(self.links)
        wrong += _wrong_names(self.mentions())
        wrong += self._unlinked()
        wrong += self._wrong_lists()
        wrong += _apart(self.links)
        wrong += _ports_taken(self.links)
        wrong += self._wrong_addresses()
        wrong += self._wrong_caps()
        wrong += self._misplaced()
        wrong += route_problems(self.routes, self.links, set(self.switches))
        wrong += self._wrong_routing()
        return wrong

    def _misplaced(self) -> list[Problem]:
        nodes = set(self.nodes())
        strangers = [name for name in self.places if name not in nodes]
        says = "there is no node '{}'. {}"
        return [
            Problem(key=f"places.{name}", says=says.format(name, suggestion(name, nodes)))
            for name in strangers
        ] + place_problems(self.places, "places")

    def _wrong_routing(self) -> list[Problem]:
        if self.routing == "by_hand" and not self.routes:
            return [
                Problem(
                    key="routing",
                    says="ways by hand are wanted, but none is given: list them under `routes`",
                )
            ]
        return []

    def _unlinked(self) -> list[Problem]:
        linked = {name for link in self.links for name in link.ends}
        alone = len(self.nodes()) == 1
        lonely = [
            ("switches", at, name) for at, name in enumerate(self.switches) if name not in linked
        ]
        lonely += [
            ("hosts", at, name)
            for at, name in enumerate(self.hosts)
            if name not in linked and not alone
        ]
        return [
            Problem(key=f"{key}.{at}", says=f"no link ends at '{name}'. {suggestion(name, linked)}")
            for key, at, name in lonely
        ]

    def _wrong_lists(self) -> list[Problem]:
        first: dict[str, str] = {}
        found = []
        for key, name in self.mentions():
            if key.startswith(("hosts", "switches")) and first.setdefault(name, key) != key:
                found.append(Problem(key=key, says=f"'{name}' is named twice"))
        count = len(self.nodes())
        if count > NODES_MAX:
            found.append(
                Problem(
                    key="links",
                    says=f"there are {count} nodes: at most {NODES_MAX} have an address",
                )
            )
        return found

    def _wrong_addresses(self) -> Iterator[Problem]:
        hosts = self.host_names()
        first: dict[str, str] = {}
        for name, text in self.addresses.items():
            says = _wrong_address(text)
            if name in self.switches:
                says = f"'{name}' is a switch: only hosts are given addresses"
            elif name not in hosts:
                says = f"there is no host '{name}'. {suggestion(name, hosts)}"
            elif not says and first.setdefault(text, name) != name:
                says = f"'{first[text]}' has the address {text} already"
            if says:
                yield Problem(key=f"addresses.{name}", says=says)

    def _wrong_caps(self) -> Iterator[Problem]:
        hosts = self.host_names()
        caps: list[tuple[str, str, Share | Size]] = []
        caps += [("cpu", name, share) for name, share in self.cpu.items()]
        caps += [("memory", name, size) for name, size in self.memory.items()]
        for key, name, cap in caps:
            says = ""
            if name in self.switches:
                says = f"'{name}' is a switch: it runs nothing that could be capped"
            elif name not in hosts:
                says = f"there is no host '{name}'. {suggestion(name, hosts)}"
            elif key == "cpu" and not 0 < cap.value <= 1:
                advice = "give more than 0 % and at most 100 % of the whole machine"
                says = f"{cap} cannot be: {advice}, or leave the host out"
            elif key == "memory" and cap.value < MEMORY_LEAST.value:
                advice = f"give {MEMORY_LEAST} or more, or leave the host out"
                says = f"{cap} is too little for any program: {advice}"
            if says:
                yield Problem(key=f"{key}.{name}", says=says)


def _wrong_address(text: str) -> str:
    try:
        address = IPv4Address(text)
    except ValueError:
        return f"'{text}' is not an IPv4 address: write four numbers, such as 10.0.0.1"
    if text.startswith(f"{SWITCHES_NETWORK}."):
        advice = f"choose one outside {SWITCHES_NETWORK}.0.0/16"
        return f"{text} is among the addresses of switches: {advice}"
    unusable = (
        address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address.is_reserved
        or text.startswith("0.")
    )
    return (
        f"{text} cannot be the address of a host: choose one such as 10.0.0.1" if unusable else ""
    )


def _apart(links: tuple[Link, ...]) -> Iterator[Problem]:
    """A network in several parts: a problem at the first link of each part but the first."""
    beside: dict[str, set[str]] = {}
    for link in links:
        for one, other in (link.ends, link.ends[::-1]):
            beside.setdefault(one, set()).add(other)
    seen: set[str] = set()
    for at, link in enumerate(links):
        if link.ends[0] in seen:
            continue
        if seen:
            apart = f"'{link.ends[0]}' is not linked with '{links[0].ends[0]}', by whatever way"
            says = f"the network is in parts: {apart}. Add a link"
            yield Problem(key=f"links.{at}.ends", says=says)
        ahead = [link.ends[0]]
        while ahead:
            node = ahead.pop()
            if node not in seen:
                seen.add(node)
                ahead += beside[node] - seen


def _ports_taken(links: tuple[Link, ...]) -> Iterator[Problem]:
    first: dict[tuple[str, str], int] = {}
    for at, link in enumerate(links):
        for end, (node, name) in enumerate(zip(link.ends, link.ports or (), strict=False)):
            if (earlier := first.setdefault((node, name), at)) != at:
                yield Problem(
                    key=f"links.{at}.ports.{end}",
                    says=f"'{node}' has an interface {name} already, at link {earlier}",
                )


def _named_twice(links: tuple[Link, ...]) -> list[Problem]:
    first: dict[str, int] = {}
    return [
        Problem(key=f"links.{at}.name", says=f"link {earlier} is called '{link.name}' already")
        for at, link in enumerate(links)
        if link.name and (earlier := first.setdefault(link.name, at)) != at
    ]


def _wrong_names(places: list[tuple[str, str]]) -> list[Problem]:
    spelt: dict[str, str] = {}
    found = []
    for key, name in places:
        earlier = spelt.setdefault(name.lower(), name)
        if earlier != name:
            says = f"'{name}' and '{earlier}' differ only in case"
            found.append(Problem(key=key, says=f"{says}, which host names do not tell apart"))
        if name.lower() in RESERVED_NODES:
            found.append(
                Problem(
                    key=key, says=f"a node cannot be called '{name}': the word has another meaning"
                )
            )
    return found
