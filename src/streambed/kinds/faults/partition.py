"""Partition: hosts drop what others send, in both directions, one, or in a ring, until it heals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Literal

from pydantic import Field

from streambed.errors import Problem, WorldError
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.fault import Lasting
from streambed.kinds.faults.of_links import Links
from streambed.kinds.faults.targets import node_problems, resolve_hosts, roles_among
from streambed.plan import Machine
from streambed.world import Injected, World

Targets = Annotated[tuple[str, ...], Field(min_length=1)]
RING_LEAST = 4
"""In a ring of three, all are neighbours."""


@declared
class Partition(Lasting):
    """Drop packets between hosts for `lasts`: those of different `sides`, those that `deaf` hosts
    would hear, or all but those between neighbours of a `ring`.
    """

    kind: Literal["partition"] = "partition"
    sides: tuple[Targets, ...] = ()
    """Two or more lists of hosts or roles. Hosts on no side reach all others."""
    deaf: dict[str, Targets] = Field(default_factory=dict)
    """Hosts or roles that receive nothing from those listed, but can still send to them."""
    ring: tuple[str, ...] = ()
    """Hosts that reach their two neighbours only: each sees a majority of three, no two the
    same.
    """

    @property
    def aim(self) -> str:
        """The declared sides of the partition."""
        return _text(self.sides, self.deaf, self.ring)

    @property
    def _targets(self) -> dict[str, str]:
        """Every host and role, by its key."""
        keys: dict[str, str] = {}
        for at, side in enumerate(self.sides):
            keys |= {f"sides.{at}.{index}": target for index, target in enumerate(side)}
        for receiver, senders in self.deaf.items():
            keys[f"deaf.{receiver}"] = receiver
            keys |= {f"deaf.{receiver}.{index}": name for index, name in enumerate(senders)}
        return keys | {f"ring.{index}": target for index, target in enumerate(self.ring)}

    @property
    def roles(self) -> Sequence[str]:
        """The roles among all targets."""
        return roles_among(self._targets.values())

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """One of the three forms; its targets are hosts and roles, each named once."""
        forms = [key for key in ("sides", "deaf", "ring") if getattr(self, key)]
        if len(forms) != 1:
            says = "give one of `sides`, `deaf` and `ring`"
            return [Problem(key=forms[-1] if forms else "sides", says=says)]
        unknown = []
        repeated = []
        seen: set[str] = set()
        for key, target in self._targets.items():
            unknown += node_problems(target, hosts, components, key, "host")
            if target in seen and not self.deaf:
                noun = "on a side" if self.sides else "in the ring"
                repeated.append(Problem(key=key, says=f"'{target}' is {noun} already"))
            seen.add(target)
        return unknown + repeated + list(self._too_few())

    def _too_few(self) -> Iterator[Problem]:
        if len(self.sides) == 1:
            yield Problem(key="sides", says="one side alone separates nothing: give two or more")
        if self.ring and len(self.ring) < RING_LEAST:
            says = f"{len(self.ring)} hosts are all neighbours: give {RING_LEAST} or more"
            yield Problem(key="ring", says=says)
        for receiver, senders in self.deaf.items():
            if receiver in senders:
                says = f"'{receiver}' cannot be deaf to itself"
                yield Problem(key=f"deaf.{receiver}", says=says)

    def lacks(self, machine: Machine) -> str:
        """Packets are dropped by nf_tables rules on each host."""
        if machine.filtering:
            return ""
        return "this kernel has no packet rules (nf_tables), which a partition needs"

    def inject(self, world: World) -> Injected:
        """Resolve the roles, and let each host drop packets from the hosts that it must not hear.

        WorldError if a role is now held by a host that is named on another side.
        """
        resolved = {target: resolve_hosts(target, world) for target in self._targets.values()}
        hosts = {target: found for target, (found, _) in resolved.items()}
        labels = {target: label for target, (_, label) in resolved.items()}
        deaf = self._deaf_hosts(hosts)
        return Injected(
            target=_text(
                [[labels[target] for target in side] for side in self.sides],
                {
                    labels[name]: [labels[other] for other in senders]
                    for name, senders in self.deaf.items()
                },
                [labels[target] for target in self.ring],
            ),
            heal=world.deafen(deaf),
            nodes=tuple(deaf),
            pairs=tuple((sender, receiver) for receiver in deaf for sender in deaf[receiver]),
        )

    def _deaf_hosts(self, hosts: Mapping[str, list[str]]) -> dict[str, list[str]]:
        """For each host, the hosts whose packets it drops."""
        if self.sides:
            return apart([sorted({h for name in side for h in hosts[name]}) for side in self.sides])
        if self.ring:
            return around([host for name in self.ring for host in hosts[name]])
        return {
            host: [other for sender in senders for other in hosts[sender]]
            for name, senders in self.deaf.items()
            for host in hosts[name]
        }


def apart(sides: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """For each host, all hosts on other sides."""
    sides_of_host = Counter(chain.from_iterable(sides))
    torn = [host for host, count in sides_of_host.items() if count > 1]
    if torn:
        raise WorldError(f"{', '.join(torn)} would be on two sides at this moment")
    return {
        host: [other for side in sides if host not in side for other in side]
        for host in chain.from_iterable(sides)
    }


def around(ring: Sequence[str]) -> dict[str, list[str]]:
    """For each host, all but itself and its two neighbours."""
    deaf = {}
    for at, host in enumerate(ring):
        near = {ring[at - 1], host, ring[(at + 1) % len(ring)]}
        deaf[host] = [other for other in ring if other not in near]
    return deaf


def _text(
    sides: Sequence[Sequence[str]], deaf: Mapping[str, Sequence[str]], ring: Sequence[str]
) -> str:
    if sides:
        return " | ".join(map(", ".join, sides))
    if ring:
        return f"ring of {', '.join(ring)}"
    return "; ".join(f"{name} deaf to {', '.join(senders)}" for name, senders in deaf.items())
