"""Links, planned: the ports at their ends and what each direction does to packets."""

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
    names = experiment.topology.ends_by_name()
    cut = {
        name for fault in experiment.faults for name in fault.emulated(names, experiment.components)
    }
    changed = changed_shapes(experiment, samples)
    ports = _Ports(experiment.topology)
    for name, link in zip(names, experiment.topology.links, strict=True):
        first, second = (
            ports.next(node, port)
            for node, port in zip(link.ends, link.ports or ("", ""), strict=True)
        )
        there, back = (shape_of(link, source, samples) for source in link.ends)
        yield PlannedLink(
            name=name,
            named=bool(link.name),
            ports=(first, second),
            shapes=(there, back),
            emulated=there.emulated or back.emulated or name in cut,
            changed=(
                tuple(changed.get((name, link.ends[0]), ())),
                tuple(changed.get((name, link.ends[1]), ())),
            ),
        )


class _Ports:
    """The interfaces of each node, in the order of its links; those without a name are eth0 and on,
    but for names that are given.
    """

    def __init__(self, topology: Topology) -> None:
        self._given = {
            named
            for link in topology.links
            for named in zip(link.ends, link.ports or (), strict=False)
        }
        self._free: dict[str, Iterator[str]] = {}
        self._used: Counter[str] = Counter()

    def next(self, node: str, name: str) -> Port:
        """The next interface of a node."""
        free = self._free.setdefault(
            node, (eth for number in count() if (node, eth := f"eth{number}") not in self._given)
        )
        self._used[node] += 1
        return Port(
            node=node, interface=name or next(free), index=FIRST_INDEX + self._used[node] - 1
        )
