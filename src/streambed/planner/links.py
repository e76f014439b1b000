"""Plan links: the ports at their ends and the shape of each direction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

from streambed.kinds.direction import Samples
from streambed.plan import PlannedLink, Port
from streambed.planner.shapes import changed_shapes, shape_of

if TYPE_CHECKING:
    from streambed.declare.experiment import Experiment
    from streambed.declare.topology import Topology

FIRST_INDEX = 2
"""The loopback interface of every node has index 1."""


def links_of(experiment: Experiment, samples: Samples) -> Iterator[PlannedLink]:
    """Every link of the experiment's topology."""
    topology = experiment.topology
    faulty = _emulated_for_faults(experiment)
    changes = changed_shapes(experiment, samples)
    ports = _Ports(topology)
    for name, link in zip(topology.ends_by_name(), topology.links, strict=True):
        one, other = link.ends
        one_port, other_port = link.ports or ("", "")
        there = shape_of(link, one, samples)
        back = shape_of(link, other, samples)
        changed_there = tuple(changes.get((name, one), ()))
        changed_back = tuple(changes.get((name, other), ()))
        yield PlannedLink(
            name=name,
            named=bool(link.name),
            ports=(ports.next(one, one_port), ports.next(other, other_port)),
            shapes=(there, back),
            emulated=there.emulated or back.emulated or name in faulty,
            changed=(changed_there, changed_back),
        )


def _emulated_for_faults(experiment: Experiment) -> set[str]:
    """The links that a fault can only act on if they are emulated."""
    names = experiment.topology.ends_by_name()
    links: set[str] = set()
    for fault in experiment.faults:
        links.update(fault.emulated(names, experiment.components))
    return links


class _Ports:
    """The interfaces of each node, in the order of its links. Those without a name get eth0, eth1
    and so on, skipping names that the declaration uses.
    """

    def __init__(self, topology: Topology) -> None:
        self._taken: set[tuple[str, str]] = set()
        for link in topology.links:
            self._taken.update(zip(link.ends, link.ports or (), strict=False))
        self._free: dict[str, Iterator[str]] = {}
        self._used: Counter[str] = Counter()

    def next(self, node: str, name: str) -> Port:
        """The next interface of a node, called `name` or the next free name."""
        index = FIRST_INDEX + self._used[node]
        self._used[node] += 1
        if not name:
            name = next(self._free.setdefault(node, self._free_names(node)))
        return Port(node=node, interface=name, index=index)

    def _free_names(self, node: str) -> Iterator[str]:
        for number in count():
            if (node, f"eth{number}") not in self._taken:
                yield f"eth{number}"
