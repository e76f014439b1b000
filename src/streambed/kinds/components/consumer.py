"""Consumer: reads topics as a member of a group and notes when it saw each record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from streambed.errors import Problem
from streambed.kinds.components.broker import Broker, client_problems
from streambed.kinds.components.component import AutoPlace
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.many_hosts import OnManyHosts
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.components.progress import DeclaredReader, Progress, positions_of
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Name, Names, Setting, declared
from streambed.plan import WITNESS, WITNESS_UNCOMMITTED, OnExit, ProcessSpec
from streambed.record.orders import ConsumerMember, ConsumerOrder
from streambed.world import World


@declared
class Consumer(OnManyHosts):
    """Reads `reads` from the earliest or the latest record on."""

    kind: Literal["consumer"] = "consumer"
    name: Name
    node: str = ""
    """The host."""
    nodes: Names = ()
    """Several hosts in its place, each with its own consumer."""
    place: Placed = None
    """How the host or hosts are chosen if neither `node` nor `nodes` names them."""
    agents: Annotated[int, Field(ge=1, le=64)] = 4
    """The consumers of several hosts share at most this many processes; each uses its own host's
    network.
    """
    reads: Annotated[Names, Field(min_length=1)]
    """A topic or several."""
    group: str = ""
    """Consumers of one group share the partitions; default: its own group."""
    share: bool = True
    """The consumers of several hosts are one group and share the partitions; false: each is a
    separate group and sees everything.
    """
    membership: Literal["dynamic", "static"] = "dynamic"
    """static: it is known to its group by name (group.instance.id), and keeps its partitions while
    it is away for a short time.
    """
    start: Literal["earliest", "latest"] = "earliest"
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed"
    """Whether records of transactions that are open or were aborted are left out."""
    keep: bool = False
    """Keep keys and values too: `run.records()` gives them."""
    ledger: bool = True
    """Record every record it reads; without that, checks cannot judge it."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of librdkafka's settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"

    auto_place: ClassVar[AutoPlace] = "round_robin"
    shows_flow: ClassVar[bool] = True
    box_reason: ClassVar[str] = ""

    @model_validator(mode="after")
    def _possible(self) -> Consumer:
        if self.node and self.nodes:
            raise ValueError("give node or nodes, not both")
        if self.group and not self.share:
            raise ValueError("give a group to share, or `share: false`, not both")
        return self

    @property
    def group_names(self) -> tuple[str, ...]:
        """Its group, or those of all of its consumers if each has its own."""
        return self._groups_on(self.hosts)

    def _groups_on(self, hosts: Sequence[str]) -> tuple[str, ...]:
        return (self.group or self.name,) if self.share else tuple(map(self._ledger_name, hosts))

    @property
    def readers(self) -> tuple[DeclaredReader, ...]:
        """One reader for each consumer group."""
        settings = self._client_settings
        latest = settings["auto.offset.reset"] in ("latest", "largest", "end")
        committed = settings["isolation.level"] == "read_committed"
        return tuple(
            DeclaredReader(
                name=name,
                topics=self.reads,
                from_latest=latest,
                isolation="read_committed" if committed else "read_uncommitted",
            )
            for name in self.group_names
        )

    @property
    def _client_settings(self) -> dict[str, Setting]:
        return {
            "auto.offset.reset": self.start,
            "isolation.level": self.isolation,
            **self.settings,
        }

    @property
    def keeps_ledger(self) -> bool:
        """Whether `ledger` is set, which is the default."""
        return self.ledger

    def progress(self, world: World) -> Progress:
        """How far each process has come, for each group that it holds consumers of."""
        positions = []
        for process, hosts in self.groups.items():
            if world.find(process).alive:
                positions += positions_of(world, process, self._groups_on(hosts), self.reads)
        return Progress(positions=tuple(positions))

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """Its topics must be declared, its hosts differ, and its broker be able to do what it
        asks.
        """
        return [*client_problems(self, self.reads, others, "reads"), *self.named_twice()]

    def answers(self, data: Path) -> dict[str, str]:
        """What references such as {NAME.group} become."""
        return {"group": self.group or self.name}

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """One agent, or a few that hold the consumers of many hosts."""
        broker = context.broker_of(self.reads)
        specs = []
        for name, hosts in self.groups.items():
            order = ConsumerOrder(
                reader=broker.reader,
                members=tuple(self._member(host, alone=len(hosts) == 1) for host in hosts),
                topics=self.reads,
                client=broker.client(self._client_settings),
                keep=self.keep,
                ledger=self.ledger,
            )
            specs.append(
                reader(context, name, order, hosts, component=self.name, on_exit=self.on_exit)
            )
        return specs

    def _member(self, host: str, *, alone: bool) -> ConsumerMember:
        """The part of the agent's order for one consumer."""
        name = self._ledger_name(host)
        static = {"group.instance.id": name} if self.membership == "static" else {}
        group = name if not self.share else self.group or self.name
        client = {"group.id": group, **static}
        return ConsumerMember(name=name, group=group, host="" if alone else host, client=client)

    def _ledger_name(self, host: str) -> str:
        """What one consumer is called in the ledger."""
        return f"{self.name}/{host}" if self.nodes else self.name


def reader(
    context: PlanContext,
    process: str,
    order: ConsumerOrder,
    hosts: Sequence[str],
    *,
    component: str,
    on_exit: OnExit = "fail",
) -> ProcessSpec:
    """An agent that holds consumers, each on its host; one without a group is a witness, which
    reads all there is once and ends.
    """
    file = context.order(process, order)
    return ProcessSpec(
        name=process,
        component=component,
        node=hosts[0],
        argv=context.agent("streambed.agents.consumer", file, hosts),
        env=context.variables(component, hosts[0], context.bootstrap_for(order.topics)),
        files=(file,),
        on_exit=on_exit,
        # Before the servers are there it would only take the CPU that they need to start.
        starts="ready" if order.members[0].group else "drain",
        networks=tuple(hosts) if len(hosts) > 1 else (),
    )


def witness(
    context: PlanContext, broker: Broker, node: str, topics: tuple[str, ...], process: str
) -> ProcessSpec:
    """The agent on a host that reads topics back from their start after the drain, and then
    ends.

    Topics that may hold records of transactions are read a second time, with all that was not
    committed.
    """
    members = [ConsumerMember(name=WITNESS, client={"group.id": WITNESS})]
    uncommitted = tuple(topic for topic in topics if topic in context.transactional_topics)
    if uncommitted:
        client = {"group.id": WITNESS, "isolation.level": "read_uncommitted"}
        members.append(ConsumerMember(name=WITNESS_UNCOMMITTED, topics=uncommitted, client=client))
    order = ConsumerOrder(
        reader=broker.reader,
        members=tuple(members),
        topics=topics,
        client=broker.client({"auto.offset.reset": "earliest"}),
        keep=bool(context.kept_topics & set(topics)),
    )
    return reader(context, process, order, (node,), component=WITNESS, on_exit="record")
