"""Everything that can happen in a run, one frozen dataclass each.

`history/events.jsonl` holds one line for each event: its time, its name in EVENTS, and its fields.
Sentences about events are written in wording.py, and no program ever parses one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from streambed.record.calibration import LinkCalibration
from streambed.record.events.event import Event as Event
from streambed.record.events.of_batches import Batch as Batch
from streambed.record.events.of_batches import BatchCommitted as BatchCommitted
from streambed.record.events.of_batches import BatchPlanned as BatchPlanned
from streambed.record.events.of_faults import FaultEvent as FaultEvent
from streambed.record.events.of_faults import Heal as Heal
from streambed.record.events.of_faults import HealFailed as HealFailed
from streambed.record.events.of_faults import Inject as Inject
from streambed.record.events.of_faults import InjectFailed as InjectFailed
from streambed.record.events.of_faults import ProbedFault as ProbedFault
from streambed.record.events.of_faults import ProbeResult as ProbeResult

PhaseName = Literal[
    "build", "start", "servers", "ready", "load", "heal", "drain", "stop", "destroy"
]
Scalar = bool | int | float | str


@dataclass(frozen=True, kw_only=True)
class Phase(Event):
    """A phase of the run began."""

    phase: PhaseName


@dataclass(frozen=True, kw_only=True)
class Clock(Event):
    """The wall clock at this time: ties monotonic time to dates."""

    wall_ns: int


@dataclass(frozen=True, kw_only=True)
class Note(Event):
    """Something that the user should know about this run. For people only."""

    says: str


@dataclass(frozen=True, kw_only=True)
class Timer:
    """A setting that decides how long the effects of a fault last."""

    of: str
    """`kernel`, or the component."""
    name: str
    value: Scalar
    declared: bool
    """Whether the declaration set it."""


@dataclass(frozen=True, kw_only=True)
class Timers(Event):
    """The timers of the kernel and of the servers."""

    timers: tuple[Timer, ...]


@dataclass(frozen=True, kw_only=True)
class DelayLine(Event):
    """How the delay line is scheduled."""

    runs: str


@dataclass(frozen=True, kw_only=True)
class Calibrated(Event):
    """A link was calibrated, in both directions."""

    link: str = ""
    ways: tuple[LinkCalibration, ...]


@dataclass(frozen=True, kw_only=True)
class Calibration(Event):
    """All links were calibrated."""

    links: int
    baseline_ns: int = 0
    """What sending and receiving alone cost."""
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Ready(Event):
    """A component is ready."""

    component: str
    seconds: float
    """Since the run began to wait for it."""


@dataclass(frozen=True, kw_only=True)
class ProcessEvent(Event):
    """Something happened to a process of the plan."""

    process: str
    component: str
    node: str = ""


@dataclass(frozen=True, kw_only=True)
class ProcessStarted(ProcessEvent):
    """A process was started."""

    pid: int = 0
    incarnation: int = 1
    """1 at first, one more with each restart."""


@dataclass(frozen=True, kw_only=True)
class ProcessEnded(ProcessEvent):
    """A process ended."""

    status: int
    """The exit status; negative: the signal that killed it."""
    expected: bool = False
    """It was stopped by the run, or ended with status 0."""
    memory_kills: int = 0
    last_lines: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LeaderChanged(Event):
    """Another broker leads a partition. `was` is empty the first time, `now` without a leader."""

    component: str
    topic: str
    partition: int
    was: str
    now: str
    epoch: int = 0


@dataclass(frozen=True, kw_only=True)
class InSyncChanged(Event):
    """Other brokers are in sync for a partition."""

    component: str
    topic: str
    partition: int
    was: tuple[str, ...]
    now: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ControllerChanged(Event):
    """Another node leads the quorum of controllers. `was` is empty the first time."""

    component: str
    was: str
    now: str


@dataclass(frozen=True, kw_only=True)
class PartitionState:
    """A partition of a topic as the cluster sees it."""

    topic: str
    partition: int
    leader: str
    """Empty if it has no leader."""
    replicas: tuple[str, ...]
    in_sync: tuple[str, ...]
    start: int | None = None
    end: int | None = None
    """The next offset; None if it is unknown."""
    stable: int | None = None
    """How far readers of committed records get; None if it is unknown."""


@dataclass(frozen=True, kw_only=True)
class GroupState:
    """A consumer group on one partition."""

    group: str
    topic: str
    partition: int
    member: str = ""
    """The client that has the partition, and its host; empty if none has."""
    committed: int | None = None
    """The next offset to read; None if the group has committed none."""


@dataclass(frozen=True, kw_only=True)
class ClusterState(Event):
    """A Kafka cluster when all was ready, and again after the drain."""

    component: str
    partitions: tuple[PartitionState, ...]
    groups: tuple[GroupState, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TopicSettings(Event):
    """The settings of a topic in force that decide what Kafka promises."""

    component: str
    topic: str
    settings: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Reroute(Event):
    """Routes changed because links failed or came back."""

    without: tuple[str, ...]
    """The links that carry nothing."""
    nodes: tuple[str, ...]
    """The nodes whose routes changed."""
    late_ns: int = 0


@dataclass(frozen=True, kw_only=True)
class Exposed(Event):
    """A port of a host can be reached from outside the run."""

    node: str
    target_port: int
    port: int


WaitReason = Literal["behind", "unreadable", "in_flight", "arriving", "running", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Something that the drain was still waiting for.

    - behind: `reader` has not read `records` records of a partition.
    - unreadable: the end of a partition of `topics` is unknown; of all partitions if none is given.
    - in_flight: the process `reader` has sent `records` records to `topics` that are neither
      acknowledged nor failed.
    - arriving: `reader` still receives records from a broker without offsets.
    - running: the process `reader` should have ended by itself.
    - unknown: written by an older version, which has only `says`.
    """

    reason: WaitReason
    reader: str = ""
    topics: tuple[str, ...] = ()
    partition: int | None = None
    records: int = 0
    says: str = ""
    """For people, where `reason` is unknown."""


@dataclass(frozen=True, kw_only=True)
class Drained(Event):
    """Every reader caught up after the load."""

    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class DrainIncomplete(Event):
    """The time for the drain was up before every reader had caught up."""

    waits: tuple[Wait, ...]


@dataclass(frozen=True, kw_only=True)
class WitnessIncomplete(Event):
    """Programs that start after the drain did not end in time."""

    processes: tuple[str, ...] = ()
    limit_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class TableDamaged(Event):
    """A table of the history could not be read to its end."""

    file: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class OtherEvent(Event):
    """An event of a name that this version does not know."""

    name: str
    fields: dict[str, Any] = field(default_factory=dict)


def _name(kind: type[Event]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


EVENTS: dict[str, type[Event]] = {
    _name(kind): kind
    for kind in (
        Batch,
        BatchCommitted,
        BatchPlanned,
        Calibrated,
        Calibration,
        Clock,
        ClusterState,
        ControllerChanged,
        DelayLine,
        DrainIncomplete,
        Drained,
        Exposed,
        Heal,
        HealFailed,
        InSyncChanged,
        Inject,
        InjectFailed,
        LeaderChanged,
        Note,
        Phase,
        ProbedFault,
        ProcessEnded,
        ProcessStarted,
        Ready,
        Reroute,
        TableDamaged,
        Timers,
        TopicSettings,
        WitnessIncomplete,
    )
}
"""Every event by the name that it has in the file."""


def event_name(event: Event) -> str:
    """The name that an event has in the file."""
    return event.name if isinstance(event, OtherEvent) else _name(type(event))
