"""The network of an experiment: hosts, switches that route between them, and links with their properties."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address
from typing import Annotated

from pydantic import Field, StringConstraints

from streambed.errors import Problem, suggestion
from streambed.kinds.declaring import declared
from streambed.units import Bandwidth, Duration, Share

NODES_MAX = 60_000
RESERVED_NODES = ("localhost", "run", "self")
SWITCHES_NETWORK = "10.255"
"""Switches have addresses that begin so; no host has."""
PORT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,14}")
"""What the kernel accepts as the name of an interface, and people can read."""
RESERVED_PORTS = ("all", "default", "lo")
PORT_RULE = "begin with a letter, go on with letters, digits, '-', '_' or '.', 15 characters at most, and not all, default or lo"
NodeName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,62}$")]
"""A host name that every program accepts: Java refuses underscores."""


@declared
class Way:
    """What differs on the way back of a link; what is not given is as on the way there."""

    delay: Duration | None = None
    jitter: Duration | None = None
    loss: Share | None = None
    rate: Bandwidth | None = None


@declared
class Link:
    """A link between two nodes."""

    ends: tuple[NodeName, NodeName]
    """The two nodes."""
    delay: Duration = Duration(0)
    """How long a packet is on its way, each way."""
    jitter: Duration = Duration(0)
    """A packet takes up to so much more or less than `delay`, so that one may overtake another."""
    loss: Share = Share(0)
    """How many packets never arrive."""
    rate: Bandwidth | None = None
    """What it carries; default: as much as the machine can."""
    back: Way | None = None
    """What differs from the second end to the first."""
    ports: tuple[str, str] | None = None
    """Names of the interfaces at the two ends; default: eth0, eth1 and so on at each node."""

    def way(self, source: str) -> Way:
        """The properties for packets that leave `source`."""
        back = self.back if self.back and source == self.ends[1] else Way()
        return Way(
            delay=self.delay if back.delay is None else back.delay,
            jitter=self.jitter if back.jitter is None else back.jitter,
            loss=self.loss if back.loss is None else back.loss,
            rate=self.rate if back.rate is None else back.rate,
        )

    def problems(self) -> list[Problem]:
        """What cannot be; keys relative to the link."""
        found = [Problem(key="ends", says=f"'{self.ends[0]}' is linked to itself")] if self.ends[0] == self.ends[1] else []
        found += _impossible(self.way(self.ends[0]), "", ("jitter", "loss", "rate"))
        if self.back:
            given = [name for name in ("delay", "jitter", "loss", "rate") if getattr(self.back, name) is not None]
            found += _impossible(self.way(self.ends[1]), "back.", given)
        wrong = [(end, name) for end, name in enumerate(self.ports or ()) if not PORT_NAME.fullmatch(name) or name in RESERVED_PORTS]
        return found + [
            Problem(key=f"ports.{end}", says=f"'{name}' cannot be the name of an interface: {PORT_RULE}") for end, name in wrong
        ]


def _impossible(way: Way, prefix: str, keys: list[str] | tuple[str, ...]) -> list[Problem]:
    delay, jitter, loss, rate = way.delay or Duration(0), way.jitter or Duration(0), way.loss or Share(0), way.rate
    wrong = {
        "loss": f"{loss} is more than 100 %" if loss.fraction > 1 else "",
        "rate": "a link that carries nothing is no link: give a rate above 0, or cut it with a fault" if rate and not rate.bps else "",
    }
    if jitter > delay:
        wrong["jitter" if "jitter" in keys else "delay"] = f"a jitter of {jitter} is more than the delay of {delay}"
    return [Problem(key=prefix + key, says=says) for key, says in wrong.items() if says and key in keys]


@declared
class Topology:
    """Nodes and the links between them. Whatever a link ends at and is not a switch is a host."""

    switches: tuple[NodeName, ...] = ()
    """Nodes that pass packets on and run nothing."""
    hosts: tuple[NodeName, ...] = ()
    """Hosts that should come first, or the only node of a network without links; others need not be named here."""
    addresses: dict[NodeName, str] = Field(default_factory=dict)
    """Addresses of hosts, for programs that expect certain ones; others get 10.0.0.1 and on, in order of mention."""
    cpu: dict[NodeName, Share] = Field(default_factory=dict)
    """How much of the whole machine, all cores together, the processes of a host may use; others may use all of it."""
    links: tuple[Link, ...] = ()

    def places(self) -> list[tuple[str, str]]:
        """The key and the name of every mention of a node, in the order of the declaration."""
        listed = [(f"{key}.{at}", name) for key in ("hosts", "switches") for at, name in enumerate(getattr(self, key))]
        return listed + [(f"links.{at}.ends.{end}", name) for at, link in enumerate(self.links) for end, name in enumerate(link.ends)]

    def nodes(self) -> list[str]:
        """All nodes in order of first mention."""
        return list(dict.fromkeys(name for _, name in self.places()))

    def host_names(self) -> list[str]:
        """All hosts in order of first mention."""
        switches = set(self.switches)
        return [name for name in self.nodes() if name not in switches]

    def problems(self) -> list[Problem]:
        """All that is wrong with it; keys relative to the topology."""
        found = [
            Problem(key=f"links.{at}.{problem.key}", says=problem.says) for at, link in enumerate(self.links) for problem in link.problems()
        ]
        found += _twice_linked(self.links) + _wrong_names(self.places()) + self._unlinked() + self._wrong_lists()
        return found + list(_ports_taken(self.links)) + list(self._wrong_addresses()) + list(self._wrong_caps())

    def _unlinked(self) -> list[Problem]:
        linked = {name for link in self.links for name in link.ends}
        alone = len(self.nodes()) == 1
        lonely = [("switches", at, name) for at, name in enumerate(self.switches) if name not in linked]
        lonely += [("hosts", at, name) for at, name in enumerate(self.hosts) if name not in linked and not alone]
        return [Problem(key=f"{key}.{at}", says=f"no link ends at '{name}'. {suggestion(name, linked)}") for key, at, name in lonely]

    def _wrong_lists(self) -> list[Problem]:
        first: dict[str, str] = {}
        found = []
        for key, name in self.places():
            if key.startswith(("hosts", "switches")) and first.setdefault(name, key) != key:
                found.append(Problem(key=key, says=f"'{name}' is named twice"))
        count = len(self.nodes())
        if count > NODES_MAX:
            found.append(Problem(key="links", says=f"there are {count} nodes: at most {NODES_MAX} have an address"))
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
        for name, share in self.cpu.items():
            says = ""
            if name in self.switches:
                says = f"'{name}' is a switch: it runs nothing that could be capped"
            elif name not in hosts:
                says = f"there is no host '{name}'. {suggestion(name, hosts)}"
            elif not 0 < share.fraction <= 1:
                says = f"{share} cannot be: give more than 0 % and at most 100 % of the whole machine, or leave the host out"
            if says:
                yield Problem(key=f"cpu.{name}", says=says)


def _wrong_address(text: str) -> str:
    try:
        address = IPv4Address(text)
    except ValueError:
        return f"'{text}' is not an IPv4 address: write four numbers, such as 10.0.0.1"
    if text.startswith(f"{SWITCHES_NETWORK}."):
        return f"{text} is among the addresses of switches: choose one outside {SWITCHES_NETWORK}.0.0/16"
    unusable = address.is_loopback or address.is_multicast or address.is_link_local or address.is_reserved or text.startswith("0.")
    return f"{text} cannot be the address of a host: choose one such as 10.0.0.1" if unusable else ""


def _ports_taken(links: tuple[Link, ...]) -> Iterator[Problem]:
    first: dict[tuple[str, str], int] = {}
    for at, link in enumerate(links):
        for end, (node, name) in enumerate(zip(link.ends, link.ports or (), strict=False)):
            if (earlier := first.setdefault((node, name), at)) != at:
                yield Problem(key=f"links.{at}.ports.{end}", says=f"'{node}' has an interface {name} already, at link {earlier}")


def _twice_linked(links: tuple[Link, ...]) -> list[Problem]:
    first: dict[frozenset[str], int] = {}
    return [
        Problem(
            key=f"links.{at}.ends", says=f"link {earlier} joins these nodes already: several links between two nodes are not supported yet"
        )
        for at, link in enumerate(links)
        if (earlier := first.setdefault(frozenset(link.ends), at)) != at
    ]


def _wrong_names(places: list[tuple[str, str]]) -> list[Problem]:
    spelt: dict[str, str] = {}
    found = []
    for key, name in places:
        earlier = spelt.setdefault(name.lower(), name)
        if earlier != name:
            found.append(Problem(key=key, says=f"'{name}' and '{earlier}' differ only in case, which host names do not tell apart"))
        if name.lower() in RESERVED_NODES:
            found.append(Problem(key=key, says=f"a node cannot be called '{name}': the word has another meaning"))
    return found
