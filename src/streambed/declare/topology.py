"""The network of an experiment: hosts, switches that route between them, and links with their
properties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from streambed.declare.earth import place_problems
from streambed.declare.generators import GENERATORS
from streambed.declare.generators.generator import NODES_MAX, connected_parts
from streambed.declare.link import Link, NodeName
from streambed.errors import Problem, nearest, suggestion
from streambed.kinds.components.limits import MEMORY_LEAST
from streambed.kinds.declaring import declared
from streambed.kinds.faults.of_links import LinkEnds
from streambed.kinds.one_of import OneOf
from streambed.planner.given_routes import route_problems
from streambed.planner.nodes import SWITCHES_NETWORK
from streambed.units import Duration, Share, Size

RESERVED_NODES = ("localhost", "run", "self")
"""The prefix of the addresses of switches; no host has it."""

if TYPE_CHECKING:
    from streambed.declare.generators.generator import Generator
else:
    Generator = Annotated[Any, OneOf(GENERATORS)]

RoutingBy = Literal["least_delay", "fewest_hops", "widest", "multipath", "by_hand"]


def _unless_never(value: Any) -> Any:
    return None if value == "never" else value


@declared
class Topology:
    """Nodes and the links between them. An end of a link that is not a switch is a host."""

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
    """Addresses of hosts, for programs that expect certain ones; others get 10.0.0.1, 10.0.0.2 and
    so on, in order of mention.
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
    """Which paths packets take."""
    routes: tuple[Annotated[tuple[NodeName, ...], Field(min_length=2)], ...] = ()
    """Paths by hand, each as the list of its nodes; they come before what `routing` says."""
    reroute: Annotated[Duration | None, BeforeValidator(_unless_never)] = None
    """How long after a link failed, or came back, packets take other paths; never, if it is not
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
        """The ends of every link by its unique name: the given one, or its ends, numbered where two
        nodes have several.
        """
        ends: dict[str, LinkEnds] = {}
        counts: Counter[frozenset[str]] = Counter()
        for link in self.links:
            counts[frozenset(link.ends)] += 1
            number = counts[frozenset(link.ends)]
            by_ends = " – ".join(link.ends)
            if number > 1:
                by_ends += f" ({number})"
            ends[link.name or by_ends] = LinkEnds(ends=link.ends, named=bool(link.name))
        return ends

    def problems(self) -> list[Problem]:
        """What is wrong with the topology; keys relative to it."""
        wrong: list[Problem] = []
        for at, link in enumerate(self.links):
            for problem in link.problems():
                wrong.append(replace(problem, key=f"links.{at}.{problem.key}"))
        wrong += _wrong_link_names(self.links)
        wrong += _wrong_node_names(self.mentions())
        wrong += self._unlinked_nodes()
        wrong += self._wrong_lists()
        wrong += _unconnected_parts(self.links, self.switches)
        wrong += _wrong_ports(self.links)
        wrong += self._wrong_addresses()
        wrong += self._wrong_caps()
        wrong += self._wrong_places()
        wrong += route_problems(self.routes, self.links, set(self.switches))
        wrong += self._wrong_routing()
        return wrong

    def _wrong_places(self) -> list[Problem]:
        nodes = set(self.nodes())
        wrong = []
        for name in self.places:
            if name not in nodes:
                says = f"there is no node '{name}'. {suggestion(name, nodes)}"
                wrong.append(Problem(key=f"places.{name}", says=says))
        return wrong + place_problems(self.places, "places")

    def _wrong_routing(self) -> list[Problem]:
        if self.routing == "by_hand" and not self.routes:
            says = "`by_hand` needs paths: list them under `routes`"
            return [Problem(key="routing", says=says)]
        return []

    def _unlinked_nodes(self) -> list[Problem]:
        linked = {name for link in self.links for name in link.ends}
        names_by_key = {f"switches.{at}": name for at, name in enumerate(self.switches)}
        if len(self.nodes()) > 1:
            names_by_key |= {f"hosts.{at}": name for at, name in enumerate(self.hosts)}
        return [
            Problem(key=key, says=f"no link ends at '{name}'. {suggestion(name, linked)}")
            for key, name in names_by_key.items()
            if name not in linked
        ]

    def _wrong_lists(self) -> list[Problem]:
        first: dict[str, str] = {}
        wrong = []
        for key, name in self.mentions():
            if key.startswith(("hosts", "switches")) and first.setdefault(name, key) != key:
                wrong.append(Problem(key=key, says=f"'{name}' is named twice"))
        count = len(self.nodes())
        if count > NODES_MAX:
            says = f"there are {count} nodes: at most {NODES_MAX} have an address"
            wrong.append(Problem(key="links", says=says))
        return wrong

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
        messages: dict[str, str] = {}
        for name, share in self.cpu.items():
            messages[f"cpu.{name}"] = self._wrong_capped(name, hosts) or _wrong_cpu(share)
        for name, size in self.memory.items():
            messages[f"memory.{name}"] = self._wrong_capped(name, hosts) or _wrong_memory(size)
        for key, says in messages.items():
            if says:
                yield Problem(key=key, says=says)

    def _wrong_capped(self, name: str, hosts: list[str]) -> str:
        if name in self.switches:
            return f"'{name}' is a switch: it runs nothing that could be capped"
        if name not in hosts:
            return f"there is no host '{name}'. {suggestion(name, hosts)}"
        return ""


def _wrong_cpu(share: Share) -> str:
    if 0 < share.value <= 1:
        return ""
    advice = "give more than 0 % and at most 100 % of the whole machine"
    return f"{share} is not allowed: {advice}, or leave the host out"


def _wrong_memory(size: Size) -> str:
    if size.value >= MEMORY_LEAST.value:
        return ""
    advice = f"give {MEMORY_LEAST} or more, or leave the host out"
    return f"{size} is too little for any program: {advice}"


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
    if unusable:
        return f"{text} cannot be the address of a host: choose one such as 10.0.0.1"
    return ""


def _unconnected_parts(links: tuple[Link, ...], switches: tuple[str, ...]) -> Iterator[Problem]:
    """A network in several parts: a problem for each part but the first, at its first link or at
    the name in it that is probably a misspelt switch.
    """
    parts = connected_parts([link.ends for link in links])
    for part in parts[1:]:
        of_part = [at for at, link in enumerate(links) if link.ends[0] in part]
        first = links[of_part[0]].ends[0]
        says = f"no path from '{first}' to '{links[0].ends[0]}'"
        misspelt = _misspelt_switch([(at, links[at].ends) for at in of_part], switches)
        if misspelt:
            key, name = misspelt
            meant = nearest(name, switches)
            yield Problem(key=key, says=f"{says}. Is '{name}' meant to be the switch '{meant}'?")
        else:
            advice = "add a link between the two parts"
            yield Problem(key=f"links.{of_part[0]}.ends", says=f"{says}: {advice}")


def _misspelt_switch(
    ends_at: list[tuple[int, tuple[str, str]]], switches: tuple[str, ...]
) -> tuple[str, str] | None:
    """The key and the name of a node that is no switch, but is called nearly like one."""
    for at, ends in ends_at:
        for end, name in enumerate(ends):
            if name not in switches and nearest(name, switches):
                return f"links.{at}.ends.{end}", name
    return None


def _wrong_ports(links: tuple[Link, ...]) -> Iterator[Problem]:
    first: dict[tuple[str, str], int] = {}
    for at, link in enumerate(links):
        for end, (node, name) in enumerate(zip(link.ends, link.ports or (), strict=False)):
            earlier = first.setdefault((node, name), at)
            if earlier != at:
                says = f"'{node}' has an interface {name} already, at link {earlier}"
                yield Problem(key=f"links.{at}.ports.{end}", says=says)


def _wrong_link_names(links: tuple[Link, ...]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for at, link in enumerate(links):
        earlier = first.setdefault(link.name, at)
        if link.name and earlier != at:
            says = f"link {earlier} is called '{link.name}' already"
            yield Problem(key=f"links.{at}.name", says=says)


def _wrong_node_names(mentions: list[tuple[str, str]]) -> list[Problem]:
    spelling: dict[str, str] = {}
    wrong = []
    for key, name in mentions:
        earlier = spelling.setdefault(name.lower(), name)
        if earlier != name:
            says = f"'{name}' and '{earlier}' differ only in case"
            wrong.append(Problem(key=key, says=f"{says}, which host names do not tell apart"))
        if name.lower() in RESERVED_NODES:
            says = f"a node cannot be called '{name}': the word has another meaning"
            wrong.append(Problem(key=key, says=says))
    return wrong
