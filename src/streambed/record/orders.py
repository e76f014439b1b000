"""Orders to agents: one frozen dataclass for each kind of agent.

The planner writes an order as `orders/<process>.json` in the run's folder, and the agent's command
line names that file. It is plain JSON, so that the agents that run in a user's own interpreter can
read it without streambed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streambed.record.events import GroupState
from streambed.stores.store import Address, SinkTable

FOLDER = "orders"


@dataclass(frozen=True, kw_only=True)
class ProfileOrder:
    """How a rate changes over the load; which fields count depends on the shape. Zero: not
    declared.
    """

    shape: str
    to: float = 0.0
    rates: tuple[float, ...] = ()
    file: str = ""
    column: str = "times"
    speed: float = 1.0
    at_s: float = 0.0
    lasts_s: float = 0.0
    bursts_s: float = 0.0
    pauses_s: float = 0.0
    interval_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ScheduleOrder:
    """When records are due."""

    rate: float | None
    """Records a second of each producer; None: a burst, or as many as the client takes."""
    duration_ns: int
    """From the start of this producer's load to the end of it."""
    profile: ProfileOrder | None = None
    arrivals: str = "constant"
    count: int | None = None
    rounds: int | None = None
    after_ns: int = 0


@dataclass(frozen=True, kw_only=True)
class RecordsOrder:
    """What records hold, and to which topics they go."""

    topics: tuple[str, ...]
    order: str = "turn"
    file: str = ""
    content: str = "lines"
    text: str = ""
    function: str = ""
    folder: str = ""
    """Where the module of `function` is."""
    headers: dict[str, str] = field(default_factory=dict)
    key: str = "none"
    size: int = 100
    sizes: str = "constant"
    keys: int = 0
    spread: str = "uniform"


@dataclass(frozen=True, kw_only=True)
class ProducerMember:
    """One producer among those that a process holds."""

    name: str
    """Its name in the ledger."""
    number: int = 0
    of: int = 1
    """How many producers the component has in all; this is the one with `number`, from 0 on."""
    host: str = ""
    """The host whose network it uses; empty: that of the process."""


@dataclass(frozen=True, kw_only=True)
class ProducerOrder:
    """To an agent that holds producers."""

    sender: str
    """module:name of the factory of senders; see agents/sender.py."""
    members: tuple[ProducerMember, ...]
    records: RecordsOrder
    schedule: ScheduleOrder
    client: dict[str, str]
    """Settings of each sender's client."""
    transaction: int = 0
    """Records in each transaction; 0: no transactions."""
    ledger: bool = True


@dataclass(frozen=True, kw_only=True)
class ConsumerMember:
    """One consumer among those that a process holds."""

    name: str
    """Its name in the ledger."""
    group: str = ""
    """Empty: it reads once what there is, and ends."""
    host: str = ""
    """The host whose network it uses; empty: that of the process."""
    topics: tuple[str, ...] = ()
    """What it reads instead of the topics that all read; empty: those."""
    client: dict[str, str] = field(default_factory=dict)
    """Settings of its client besides those that all have."""


@dataclass(frozen=True, kw_only=True)
class ConsumerOrder:
    """To an agent that holds consumers."""

    reader: str
    """module:name of the factory of readers; see agents/reader.py."""
    members: tuple[ConsumerMember, ...]
    topics: tuple[str, ...]
    client: dict[str, str]
    """Settings of each reader's client."""
    keep: bool = False
    """Keep keys and values."""
    ledger: bool = True


@dataclass(frozen=True, kw_only=True)
class SinkOrder:
    """To an agent that writes records into a table of a store."""

    reader: str
    """module:name of the factory of readers; see agents/reader.py."""
    member: ConsumerMember
    topics: tuple[str, ...]
    client: dict[str, str]
    store: Address
    table: SinkTable
    format: str = "text"
    taken: tuple[str, ...] = ()
    """The columns that are taken out of a JSON value."""


@dataclass(frozen=True, kw_only=True)
class TrafficOrder:
    """To an agent that sends and receives background traffic."""

    port: int
    to: tuple[str, ...]
    """Addresses; empty: it only receives."""
    pattern: str
    step_ns: float
    """Between two packets of one flow."""
    size: int
    bursts_ns: int
    pauses_ns: int
    flows: int
    after_ns: int
    lasts_ns: int


@dataclass(frozen=True, kw_only=True)
class CapturePort:
    """One interface that is captured, and the file for it."""

    interface: str
    file: str


@dataclass(frozen=True, kw_only=True)
class CaptureOrder:
    """To an agent that captures the ports of one node."""

    links: dict[str, CapturePort]
    """By the name of the link."""
    snap: int
    """Bytes to keep of each packet; 0: all."""
    limit: int
    """Bytes of each file."""


@dataclass(frozen=True, kw_only=True)
class ServerSetupOrder:
    """To the agent that prepares a server's folder and then becomes the server."""

    made: str
    """The file that says that the folder is prepared."""
    once: tuple[tuple[str, ...], ...]
    """Commands that prepare it."""
    stale: tuple[str, ...]
    """Files to remove before every start."""
    argv: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SparkDriverOrder:
    """To the agent that runs a Spark job."""

    java: tuple[str, ...]
    settings: dict[str, str]
    job: str
    secrets: str = ""
    """The file of those settings that no command line may show; empty if there are none."""
    args: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    """Folders in HDFS to make first, by their addresses in WebHDFS."""


@dataclass(frozen=True, kw_only=True)
class StoreQueryOrder:
    """To the agent that asks a store one thing."""

    store: Address
    text: str
    answer: str
    """The Arrow file for the answer; a refusal goes beside it, with the suffix .json."""
    read_only: bool


@dataclass(frozen=True, kw_only=True)
class StoreProbeOrder:
    """To the agent that reads a store under load."""

    name: str
    """What it is called in the table."""
    store: Address
    text: str
    every_ns: int


@dataclass(frozen=True, kw_only=True)
class BatchJobOrder:
    """To the agent that runs a batch job over topics."""

    file: str
    function: str
    tables: dict[str, str]
    """By topic: the Arrow file with its records."""
    answer: str
    """The Arrow file for the answer; an error goes beside it, with the suffix .json."""
    master: str = ""
    """The URL of a Spark master; empty: in this process."""


@dataclass(frozen=True, kw_only=True)
class GroupsOrder:
    """To the agent that describes the consumer groups of a Kafka cluster."""

    bootstrap: str
    addresses: dict[str, str]
    """The address of each node: members are named by node."""
    groups: tuple[str, ...] = ()
    """The groups that are known already."""
    list_groups: bool = True
    """Whether to ask the brokers for others."""


@dataclass(frozen=True, kw_only=True)
class KnownGroups:
    """The agent's answer: the groups, with members and offsets of those that answered."""

    names: tuple[str, ...]
    states: tuple[GroupState, ...]


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why a store query or a batch job has no result: written beside where the result would be."""

    says: str
    query_wrong: bool = False
    """Whether the store refused the statement itself: asking again does not help."""
