"""The Plan: every address, route, rate and command of a run, decided before anything is touched.

Plain data, written as JSON; it is all that enters the box.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from streambed.errors import FormatError
from streambed.stores.store import Address

OnExit = Literal["auto", "fail", "record", "restart"]
"""What happens if a process ends unexpectedly. auto: the run fails, but a process that a fault has
killed before is restarted. In a plan only processes that a fault may kill have `auto`.
"""
Starts = Literal["start", "ready", "load", "drain"]
Means = Literal["netem", "delay_line", "none"]
Distribution = Literal["uniform", "normal", "pareto", "samples"]

DOMAIN = "streambed"
"""Every node is also known as NAME.streambed."""
WITNESS = "witness"
"""The consumer that reads checked topics back from their start after the drain."""
STORE_READER = "store_reader"
"""The component of the processes that read stores for checks; no other may have this name."""
WITNESS_UNCOMMITTED = "witness_uncommitted"
"""The consumer that reads them back once more, with what was never committed."""
READ_BACKS = (WITNESS, WITNESS_UNCOMMITTED)
CAPTURE = "capture"
"""The component of the processes that capture packets; no other may have this name."""
SHORTEST_DELAY_NS = 100_000
"""The delay line itself takes about as long."""
LONGEST_NETEM_JITTER_NS = (1 << 31) - 1
"""netem silently clamps larger values to this."""


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
    pysparks: dict[str, str] = field(default_factory=dict)
    """The version of pyspark in each interpreter that a component brings; empty if it has none."""
    core_numbers: tuple[int, ...] = ()
    """The cores that a run may use."""
    cpu_groups: str = ""
    """The folder in which control groups with a cap of CPU time can be made; empty if there is
    none.
    """
    memory_groups: str = ""
    """The folder in which control groups with a cap of memory can be made; empty if there is none.
    """
    clock_refusal: str = ""
    """Why clocks of processes cannot be skewed; empty if they can."""
    sync_refusal: str = ""
    """Why syncs of processes cannot be slowed down or failed; empty if they can."""
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
    held: bool = False
    """Every packet is held, and delivered when this ends; only the delay line can."""
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
        treats all the same.
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
        """The first hop, then those in `also`."""
        return (Hop(interface=self.interface, via=self.via), *self.also)


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The CPU, memory and cores that a process or a host may use, and its priority; zero or empty
    means no limit.
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
    """A file that is made before a process first starts: given text, or a copy of `source`, which
    may be a folder.
    """

    path: str
    text: str = ""
    source: str = ""
    program: bool = False
    """Whether it is a program, which other processes start."""
    private: bool = False
    """Whether only its owner may read it."""


@dataclass(frozen=True, kw_only=True)
class ProcessSpec:
    """One process on one host; `starts` names the phase in which it is started (drain: after every
    reader has caught up).
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
    """The memory that its options ask for: the heap of a JVM, the cache of a store; 0: unknown."""
    allowance: Allowance = Allowance()
    groups: tuple[str, ...] = ()
    """The control groups that it joins before it starts; they exist while the run lasts."""
    disk: str = ""
    """The folder with the files that it recovers from; empty if it has none."""
    disk_bytes: int = 0
    """The size of the file system that it gets for its disk, if a fault may fill that."""
    append_only: tuple[str, ...] = ("*",)
    """Patterns of the names of files on its disk that it only appends to."""
    reports_syncs: bool = False
    """Whether a fault may slow down or fail its syncs, or lose what it has not synced."""
    networks: tuple[str, ...] = ()
    """Hosts whose networks it may enter, if it uses more than its own node's."""


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """A port of a host that is reached at a port of the user's own loopback."""

    port: int
    node: str
    target_port: int
    descriptor: int = -1
    """The socket on which the launcher listens; the box inherits it."""


@dataclass(frozen=True, kw_only=True)
class PlannedInjection:
    """One injection of a fault: its time, or the time from which its trigger counts."""

    fault: int
    """Its index in `faults`."""
    at_ns: int
    lasts_ns: int
    trigger: str = ""
    """What it waits for; empty: it is injected at `at_ns`."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that is decided about one run."""

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
    warm_up_ns: int = 0
    """How much of the load is warm-up."""
    calibrates_rates: bool = False
    """Whether the rates of links are measured before the load, not only their delays."""
    reroutes: bool = False
    """Whether packets get new routes when a link fails."""
    writable: tuple[str, ...] = ()
    """Where programs may write besides the run's folder, if root runs them."""
    exposures: tuple[Exposure, ...] = ()
    injections: tuple[PlannedInjection, ...] = ()
    """Every injection of a fault, in order of time; random times are drawn."""
    notes: tuple[str, ...] = ()
    command: str = ""
    """The command line that makes the same run again; empty if it was started from Python."""
    samples_ns: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The delays in the files of samples that faults name."""
    stores: dict[str, Address] = field(default_factory=dict)
    """Where clients find each store that can be asked."""
    outside: bool = False
    """Whether it runs outside any box, on clusters that exist already: then there are no links."""
    serves: bool = False
    """Whether it only runs servers until it is interrupted, without load: see `streambed up`."""

    def node(self, name: str) -> PlannedNode:
        """The node of that name."""
        return next(node for node in self.nodes if node.name == name)

    def addresses(self) -> dict[str, str]:
        """Address of every node by name."""
        return {node.name: node.address for node in self.nodes}


@cache
def _adapter() -> TypeAdapter[Plan]:
    """Built when a plan is kept or read: `streambed plan` does neither."""
    return TypeAdapter(Plan)


def write(plan: Plan, path: Path) -> None:
    """Write a plan as JSON."""
    path.write_bytes(_adapter().dump_json(plan, indent=1))


def read(path: Path) -> Plan:
    """Read the plan that `write` wrote; FormatError if the file is damaged."""
    try:
        return _adapter().validate_json(path.read_bytes())
    except ValueError as error:
        first = str(error).partition("\n")[2].strip().partition("\n")[0]
        raise FormatError(f"{path} is damaged: {first or error}") from None
