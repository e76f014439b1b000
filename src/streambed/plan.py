"""The Plan: every address, route, rate and command of a run, decided before anything is touched.

Plain data, written as JSON; it is all that enters the box.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from streambed.stores.store import Address

OnExit = Literal["fail", "record", "restart"]
Starts = Literal["start", "ready", "load", "drain"]
Means = Literal["netem", "delay_line", "none"]
Distribution = Literal["uniform", "normal", "pareto", "samples"]

DOMAIN = "streambed"
"""Every node is also known as NAME.streambed."""
WITNESS = "witness"
"""The consumer that reads checked topics back from their start after the drain."""
CAPTURE = "capture"
"""The processes that write what passes links belong to it; no component may be called so."""
SHORTEST_DELAY_NS = 100_000
"""The delay line itself takes about as long."""
LONGEST_NETEM_JITTER_NS = (1 << 31) - 1
"""More than this netem would cut down to it without a word."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What this machine is and can emulate, and the programs found on it."""

    cores: int = 1
    memory_mib: int = 0
    kernel: str = ""
    namespaces: bool = True
    means: Means = "delay_line"
    shaping: bool = True
    filtering: bool = True
    arrivals: bool = True
    """Whether netem can hold back what arrives at an interface; otherwise it holds back only what
    leaves one.
    """
    java: str = ""
    java_version: int = 0
    java_build: str = ""
    python: str = ""
    python_path: str = ""
    """PYTHONPATH, as Spark jobs inherit it."""
    core_numbers: tuple[int, ...] = ()
    """The cores that a run may use."""
    cpu_groups: str = ""
    """The folder in which control groups with a cap of CPU time can be made; empty if there is
    none.
    """
    memory_groups: str = ""
    """The folder in which control groups with a cap of memory can be made; empty if there is none.
    """
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What one direction of a link does to packets; zero means nothing."""

    delay_ns: int = 0
    jitter_ns: int = 0
    """How far delays spread around `delay_ns`: the bound of a uniform distribution, the standard
    deviation of others.
    """
    distribution: Distribution = "uniform"
    samples_ns: tuple[int, ...] = ()
    """Delays to draw from, if the distribution is "samples"; `delay_ns` is then their mean,
    `jitter_ns` their standard deviation.
    """
    in_order: bool = False
    """No packet overtakes another, however their delays are drawn."""
    loss: float = 0.0
    loss_enter: float = 0.0
    """Loss in bursts (Gilbert–Elliott), if above zero: the chance, at each packet, to go from the
    good state to the bad one.
    """
    loss_leave: float = 0.0
    """The chance, at each packet, to go back to the good state."""
    loss_bad: float = 1.0
    loss_good: float = 0.0
    reorder: float = 0.0
    """The share of packets that are not delayed at all, and so overtake others."""
    duplicate: float = 0.0
    corrupt: float = 0.0
    """The share of packets in which one bit is turned over."""
    rate_bps: int = 0
    queue_bytes: int = 0
    """How much waits for the rate before more is dropped; zero: as much as the rate carries in 100
    ms.
    """

    @property
    def emulated(self) -> bool:
        """Whether packets must pass netem or the delay line."""
        return bool(self.delay_ns or self.loss) or self.selective

    @property
    def selective(self) -> bool:
        """Whether packets fare differently, so that none may travel in a bundle with others: a cut
        treats all alike.
        """
        drawn = (
            self.jitter_ns,
            0 < self.loss < 1,
            self.loss_enter,
            self.reorder,
            self.duplicate,
            self.corrupt,
        )
        return any(drawn)


@dataclass(frozen=True, kw_only=True)
class Port:
    """One end of a link."""

    node: str
    interface: str
    index: int


@dataclass(frozen=True, kw_only=True)
class PlannedLink:
    """Two ports; `shapes[0]` is for packets from `ports[0]`, `shapes[1]` for packets from
    `ports[1]`.

    A link is `emulated` if packets must pass the delay line or netem: a shape asks for it, or a
    fault may cut or change it.
    """

    name: str
    ports: tuple[Port, Port]
    shapes: tuple[Shape, Shape]
    emulated: bool
    changed: tuple[tuple[Shape, ...], tuple[Shape, ...]] = ((), ())
    """What faults may make of each shape."""
    named: bool = False
    """Whether the user gave it its name; otherwise it goes by its ends."""


@dataclass(frozen=True, kw_only=True)
class Hop:
    """Packets leave by `interface`, to the neighbour `via` (empty: their destination is that
    neighbour).
    """

    interface: str
    via: str = ""


@dataclass(frozen=True, kw_only=True)
class Route:
    """Packets to `destination`, one address or a block such as 10.0.1.0/24, leave by `interface`,
    to the neighbour `via`.

    The longest match counts. With further hops in `also`, connections are spread evenly over all of
    them.
    """

    destination: str
    interface: str
    via: str = ""
    also: tuple[Hop, ...] = ()

    @property
    def hops(self) -> tuple[Hop, ...]:
        """All of them."""
        return (Hop(interface=self.interface, via=self.via), *self.also)


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What a process, or all of a host, may use of the machine, and how it stands to others; zero
    and nothing mean no limit.
    """

    cpu: float = 0.0
    memory_bytes: int = 0
    priority: int = 0
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlannedNode:
    """A host or a switch: one address, its routes, where it is drawn, and what its processes may
    use of the machine.
    """

    name: str
    switch: bool
    address: str
    routes: tuple[Route, ...]
    x: float = 0.0
    y: float = 0.0
    allowance: Allowance = Allowance()


@dataclass(frozen=True, kw_only=True)
class PlannedFile:
    """A file to be there before a process first starts: given text, or a copy of `source`, which
    may be a folder.
    """

    path: str
    text: str = ""
    source: str = ""
    program: bool = False
    """Whether others start it."""


@dataclass(frozen=True, kw_only=True)
class ProcessSpec:
    """One process on one host; `starts` names the phase in which it is started (drain: after
    everybody caught up).
    """

    name: str
    component: str
    node: str
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = ""
    files: tuple[PlannedFile, ...] = ()
    on_exit: OnExit = "fail"
    starts: Starts = "start"
    heap_bytes: int = 0
    """How much memory it asks for, as far as it says so: the heap of a JVM, the cache of a store.
    """
    allowance: Allowance = Allowance()
    groups: tuple[str, ...] = ()
    """The control groups that it joins before it begins; there while the run lasts."""
    networks: tuple[str, ...] = ()
    """Hosts whose networks it may enter, if that of its own node is not all it uses."""


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """A port of a host that is reached at a port of the user's own loopback."""

    port: int
    node: str
    target_port: int
    descriptor: int = -1
    """Where the launcher listens, as the box inherits it."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run, decided."""

    name: str
    seed: int
    duration_ns: int
    ready_limit_ns: int
    drain_limit_ns: int
    directory: str
    machine: Machine
    nodes: tuple[PlannedNode, ...]
    links: tuple[PlannedLink, ...]
    processes: tuple[ProcessSpec, ...]
    declaration: dict[str, Any]
    exposures: tuple[Exposure, ...] = ()
    notes: tuple[str, ...] = ()
    samples_ns: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The delays in the files of samples that faults name."""
    stores: dict[str, Address] = field(default_factory=dict)
    """Where clients find each store that can be asked."""
    outside: bool = False
    """Whether it runs outside any box, on clusters that exist already: then there are no links."""

    def node(self, name: str) -> PlannedNode:
        """The node of that name."""
        return next(node for node in self.nodes if node.name == name)

    def addresses(self) -> dict[str, str]:
        """Address of every node by name."""
        return {node.name: node.address for node in self.nodes}


_ADAPTER = TypeAdapter(Plan)


def write(plan: Plan, path: Path) -> None:
    """Keep a plan as JSON."""
    path.write_bytes(_ADAPTER.dump_json(plan, indent=1))


def read(path: Path) -> Plan:
    """The plan that `write` kept."""
    return _ADAPTER.validate_json(path.read_bytes())
