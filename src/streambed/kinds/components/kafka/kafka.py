"""Kafka: brokers and controllers in KRaft mode, with their topics."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from streambed import artifacts
from streambed.errors import Problem, WorldError, suggestion
from streambed.kinds.components.broker import Ends, FileTables, Watched
from streambed.kinds.components.component import AutoPlace, ComponentBase, ExistingCluster, Needs
from streambed.kinds.components.consumer import witness
from streambed.kinds.components.kafka import log_files, protocol
from streambed.kinds.components.kafka.clients import (
    READER,
    SENDER,
    client_settings,
    offset_store_problems,
)
from streambed.kinds.components.kafka.cluster import KafkaCluster
from streambed.kinds.components.kafka.elections import hold_election
from streambed.kinds.components.kafka.existing import ExistingKafka
from streambed.kinds.components.kafka.log_disks import KeepsLog
from streambed.kinds.components.kafka.loopback import on_loopback
from streambed.kinds.components.kafka.properties import (
    BROKER_PORT,
    CONTROLLER_PORT,
    LOGGING,
    STOCK_FLAGS,
    Member,
    identity,
    properties,
)
from streambed.kinds.components.kafka.protocol import Led
from streambed.kinds.components.kafka.role_lookup import held_in, topic_of_role
from streambed.kinds.components.kafka.topic import Topic, WithTopics, timers_of, topic_specs
from streambed.kinds.components.kafka.watch import KafkaWatch
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.plan_context import Loopback, PlanContext
from streambed.kinds.components.roles import Role
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Name, Port, Setting, declared
from streambed.plan import OnExit, PlannedFile, ProcessSpec
from streambed.record.events import Event
from streambed.units import Size
from streambed.world import Missing, World

HEAP_BYTES, STOCK_HEAP_BYTES = 128 << 20, 1 << 30
CONTROLLERS = (1, 3, 5)
"""Allowed sizes of a quorum: odd, so that there is always a majority."""


@declared
class Kafka(WithTopics, KeepsLog, ComponentBase):
    """A Kafka cluster: one broker on each of `nodes`, and controllers on these or other hosts."""

    needs: ClassVar[Needs] = ("kafka",)

    kind: Literal["kafka"] = "kafka"
    name: Name
    nodes: tuple[str, ...] = ()
    """The hosts, each with one broker."""
    place: Placed = None
    """How the hosts are chosen if `nodes` does not name them."""
    controllers: tuple[str, ...] = ()
    """The 1, 3 or 5 nodes that vote, brokers or not; default: the first three brokers, or the
    first one if there are fewer.
    """
    port: Port = BROKER_PORT
    """The port of brokers."""
    controller_port: Port = CONTROLLER_PORT
    """The port of controllers."""
    topics: dict[Name, Topic] = Field(default_factory=dict)
    placement: Literal["kafka", "balanced"] = "kafka"
    """The placement of topics that name none."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of Kafka's broker settings."""
    settings_of: dict[str, dict[str, Setting]] = Field(default_factory=dict)
    """Settings of single nodes, which win over `settings`."""
    racks: dict[str, Name] = Field(default_factory=dict)
    """The rack of each node; Kafka spreads replicas over racks."""
    existing: str = ""
    """Servers of an existing cluster, used instead of these brokers: see --bootstrap."""
    stock: bool = False
    """Use Kafka's own JVM flags and defaults, not those that let many brokers share a machine."""
    heap: Size | None = None
    """Java heap of each server; default: 128 MiB, or 1 GiB if stock."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"
    host_keys: ClassVar[tuple[str, ...]] = ("nodes",)
    auto_place: ClassVar[AutoPlace] = "spread"
    takes_existing: ClassVar[tuple[ExistingCluster, ...]] = ("bootstrap",)
    sender: ClassVar[str] = SENDER
    reader: ClassVar[str] = READER
    runs_on_loopback: ClassVar[bool] = True

    @property
    def members(self) -> list[Member]:
        """Every server with its number: brokers from 1 on, then the controller-only nodes."""
        default = self.nodes[:3] if len(self.nodes) >= 3 else self.nodes[:1]
        voters = self.controllers or default
        nodes = [*self.nodes, *(node for node in voters if node not in self.nodes)]
        return [
            Member(
                number=number,
                node=node,
                broker=number <= len(self.nodes),
                controller=node in voters,
                port=self.port,
                controller_port=self.controller_port,
            )
            for number, node in enumerate(nodes, 1)
        ]

    @property
    def places(self) -> dict[str, str]:
        """The key that names each node."""
        keys = {node: f"controllers.{number}" for number, node in enumerate(self.controllers)}
        keys |= {node: f"nodes.{number}" for number, node in enumerate(self.nodes)}
        return {keys[member.node]: member.node for member in self.members if member.node in keys}

    @property
    def as_broker(self) -> Kafka:
        """Clients write and read its topics."""
        return self

    @property
    def partitions(self) -> dict[str, int]:
        """Its topics, and how many partitions each has."""
        return {name: topic.partitions for name, topic in self.topics.items()}

    @property
    def server(self) -> bool:
        """Clients start once it is ready."""
        return True

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of brokers and of controllers."""
        return (self.port, self.controller_port)

    @property
    def bootstrap(self) -> str:
        """The value of bootstrap.servers for clients."""
        return self.existing or ",".join(f"{node}:{self.port}" for node in self.nodes)

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """Topics must fit the brokers, controllers form a quorum, per-node keys name members."""
        if not self.nodes:
            return []  # Placement reports why there are none.
        problems = []
        for name, topic in self.topics.items():
            for key, says in topic.problems(self.nodes):
                problems.append(Problem(key=f"topics.{name}.{key}", says=says))
        return problems + self._server_problems() + self._unknown_nodes()

    def _server_problems(self) -> list[Problem]:
        problems = []
        for key, nodes in (("nodes", self.nodes), ("controllers", self.controllers)):
            if len(set(nodes)) < len(nodes):
                says = "a node is named twice: each runs one server of this cluster"
                problems.append(Problem(key=key, says=says))
        count = len(self.controllers)
        if count and count not in CONTROLLERS:
            says = (
                f"{count} controllers are not allowed: use 1, 3 or 5, so that there is a majority"
            )
            problems.append(Problem(key="controllers", says=says))
        return problems

    def _unknown_nodes(self) -> list[Problem]:
        members = [member.node for member in self.members]
        problems = []
        for key, nodes in (("settings_of", self.settings_of), ("racks", self.racks)):
            for node in nodes:
                if node not in members:
                    says = f"'{node}' is no node of this cluster. {suggestion(node, members)}"
                    problems.append(Problem(key=f"{key}.{node}", says=says))
        return problems

    def answers(self, data: Path) -> dict[str, str]:
        """{NAME.bootstrap}, and {NAME.class_path} for Kafka's own tools."""
        return {"bootstrap": self.bootstrap, "class_path": artifacts.kafka_class_path_text()}

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """One server for each node; none if the cluster exists already."""
        if self.existing:
            return []
        return [self._process(context, member) for member in self.members]

    def _process(self, context: PlanContext, member: Member) -> ProcessSpec:
        home = context.data(self.name) / member.node
        return ProcessSpec(
            name=f"{self.name}/{member.node}",
            component=self.name,
            node=member.node,
            argv=(
                *self._java(context),
                f"-Dlog4j2.configurationFile={home}/logging.properties",
                "kafka.Kafka",
                f"{home}/server.properties",
            ),
            env=context.variables(self.name, member.node, self.bootstrap),
            cwd=str(home),
            files=self._files(context, member, home),
            on_exit=self.on_exit,
            heap_bytes=self._heap_bytes,
        )

    def _files(self, context: PlanContext, member: Member, home: Path) -> tuple[PlannedFile, ...]:
        settings = {**self.settings, **self.settings_of.get(member.node, {})}
        if member.node in self.racks:
            settings = {"broker.rack": self.racks[member.node], **settings}
        log = f"{home}/log"
        server = properties(member, self.members, log=log, stock=self.stock, settings=settings)
        meta = identity(context.seed, self.name, member.number)
        checkpoint = str(artifacts.checkpoint_path())
        return (
            PlannedFile(path=f"{home}/server.properties", text=server),
            PlannedFile(path=f"{home}/logging.properties", text=LOGGING),
            PlannedFile(path=f"{log}/meta.properties", text=meta),
            PlannedFile(path=f"{log}/bootstrap.checkpoint", source=checkpoint),
        )

    @property
    def _heap_bytes(self) -> int:
        if self.heap:
            return self.heap.bytes
        return STOCK_HEAP_BYTES if self.stock else HEAP_BYTES

    def _java(self, context: PlanContext) -> list[str]:
        heap = [f"-Xmx{self.heap.bytes >> 20}m"] if self.heap else []
        if self.stock:
            return [*artifacts.kafka_command(context.java, flags=STOCK_FLAGS, archive=False), *heap]
        return [*artifacts.kafka_command(context.java), *heap]

    def cluster(self, world: World) -> KafkaCluster:
        """The admin client of this world, on the first broker's host."""
        client = ExistingKafka if self.existing else KafkaCluster
        return world.keep(
            f"kafka cluster {self.name}",
            lambda: world.call(self.nodes[0], lambda: client(self.bootstrap)),
        )

    def readiness(self, world: World) -> Missing:
        """Ready when all brokers answer and all partitions have a leader and replicas in sync."""
        cluster = self.cluster(world)
        topics = topic_specs(self.topics, self.nodes, self.placement)

        def missing() -> str:
            lacking = cluster.missing(brokers=len(self.nodes), topics=topics)
            if not lacking:
                return ""
            return lacking + self._why_no_quorum(world)

        return missing

    def _why_no_quorum(self, world: World) -> str:
        """Says that no controller was elected: without one, no broker can register."""
        if self.existing or self.quorum_leader(world):
            return ""
        voters = ", ".join(member.node for member in self.members if member.controller)
        return (
            f"; no controller has been elected (one of {voters} should be): "
            "a majority of the voters must live and reach each other"
        )

    def role_holder(self, role: Role, world: World) -> str:
        """The broker process that holds a role now; WorldError if none does."""
        led = self._quorum(world) if role.kind == "controller" else self._leader(role, world)
        if led is None:
            raise WorldError(f"no broker of {self.name} tells who is {role} at this moment")
        if led[1] < 1:
            raise WorldError(f"no broker of {self.name} is {role} at this moment")
        return f"{self.name}/{self.members[led[1] - 1].node}"

    def _leader(self, role: Role, world: World) -> Led | None:
        """Who has a role with a partition, by the newest epoch that any broker knows of."""
        topic = topic_of_role(role)
        return held_in([view.get(topic, {}) for view in self.views(world, [topic])], role)

    def elect(self, world: World, *, topic: str, partition: int, unclean: bool) -> str:
        """Ask the brokers in their hosts; who leads afterwards."""
        role = Role(kind="leader", of=topic, partition=partition)
        connections = self._connections(world, self.nodes, self.port)
        hold_election(connections, role, lambda: self._leader(role, world), unclean=unclean)
        return self.role_holder(role, world)

    def views(self, world: World, topics: Sequence[str]) -> list[protocol.View]:
        """These topics as each broker that answers sees them.

        Brokers are asked inside their own hosts, so that network faults do not matter.
        """
        connections = self._connections(world, self.nodes, self.port)
        answers = protocol.answers(connections, protocol.view_request(topics))
        return [protocol.view(answer) for answer in answers]

    def quorum_leader(self, world: World) -> str:
        """The node whose controller leads the quorum now; empty if none does."""
        led = self._quorum(world)
        return self.members[led[1] - 1].node if led and led[1] > 0 else ""

    def _quorum(self, world: World) -> Led | None:
        voters = tuple(member.node for member in self.members if member.controller)
        connections = self._connections(world, voters, self.controller_port)
        answers = protocol.answers(connections, protocol.quorum_request())
        return max(filter(None, map(protocol.quorum_leader, answers)), default=None)

    def _connections(
        self, world: World, nodes: tuple[str, ...], port: int
    ) -> Iterator[socket.socket]:
        """A connection to each server that can answer, made inside its own host."""
        for node in nodes:
            if world.find(f"{self.name}/{node}").paused:
                continue
            address = (node, port)
            connect = partial(socket.create_connection, address, protocol.ANSWER_LIMIT_S)
            try:
                yield world.call(node, connect)
            except OSError:
                continue  # It is dead; the others answer.

    def watch(self, world: World) -> Watched:
        """Poll every broker once: what changed since the last poll, and counts of partitions."""
        if self.existing:
            return Watched()  # Its servers are not on our hosts.
        nodes = {member.number: member.node for member in self.members}
        watch = world.keep(
            f"kafka watch {self.name}", lambda: KafkaWatch(self.name, nodes, self.nodes)
        )
        views = self.views(world, list(self.topics))
        changes = watch.changes(views, self.quorum_leader(world))
        return Watched(events=tuple(changes), samples=tuple(watch.samples()))

    def end_positions(self, world: World) -> Ends:
        """The next offset of each partition; None for one without a leader."""
        return self.cluster(world).end_offsets(list(self.topics)) if self.topics else {}

    def client(self, settings: Mapping[str, Setting]) -> dict[str, str]:
        """The librdkafka configuration of a sender or reader."""
        return client_settings(self.bootstrap, settings)

    def client_problems(self, client: Any) -> list[Problem]:
        """Readers may not change when offsets are stored."""
        return offset_store_problems(client.settings) if client.readers else []

    def read_back(self, context: PlanContext, topics: tuple[str, ...], name: str) -> ProcessSpec:
        """A consumer without a group, on the first broker's host."""
        return witness(context, self, self.nodes[0], topics, name)

    def file_tables(self, data: Path) -> FileTables:
        """What the brokers' own files hold."""
        return log_files.file_tables(data, self.members, self.partitions)

    @property
    def existing_address(self) -> str:
        """The servers of the existing cluster, if one is used."""
        return self.existing

    def on_existing(self, cluster: ExistingCluster, address: str) -> Kafka:
        """The same topics on the existing cluster."""
        return replace(self, existing=address) if cluster == "bootstrap" else self

    @property
    def box_reason(self) -> str:
        """Brokers that we run need emulated hosts."""
        if self.existing:
            return ""
        return (
            "its brokers need emulated hosts, and there is no box here: "
            "name others with --bootstrap"
        )

    def on_loopback(self, loopback: Loopback) -> Kafka:
        """One broker, and topics without further replicas."""
        return on_loopback(self, loopback)

    def snapshot(self, world: World) -> tuple[Event, ...]:
        """Topics, partitions and consumer groups now; not of a cluster that others use too."""
        if self.existing:
            return ()
        nodes = {member.number: member.node for member in self.members}
        cluster, addresses = self.cluster(world), world.plan.addresses()
        return world.call(self.nodes[0], lambda: cluster.state(self.name, nodes, addresses))

    def timers(self) -> dict[str, tuple[Setting, bool]]:
        """Settings that decide who takes over after a fault, with min.insync.replicas by topic."""
        return timers_of(self.settings, self.topics)
