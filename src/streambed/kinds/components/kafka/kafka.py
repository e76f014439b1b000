"""Kafka: brokers and controllers in KRaft mode, with their topics."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from streambed import artifacts
from streambed.errors import Problem, WorldError, suggestion
from streambed.kinds.components.broker import Ends, Watched
from streambed.kinds.components.component import AutoPlace, ComponentBase, ExistingCluster, Needs
from streambed.kinds.components.consumer import witness
from streambed.kinds.components.kafka import protocol
from streambed.kinds.components.kafka.clients import (
    READER,
    SENDER,
    client_settings,
    offset_store_problems,
)
from streambed.kinds.components.kafka.cluster import KafkaCluster
from streambed.kinds.components.kafka.existing import ExistingKafka
from streambed.kinds.components.kafka.properties import (
    BROKER_PORT,
    CONTROLLER_PORT,
    LOGGING,
    TIMERS,
    Member,
    identity,
    properties,
)
from streambed.kinds.components.kafka.protocol import Led
from streambed.kinds.components.kafka.topic import Topic, wanted
from streambed.kinds.components.kafka.watch import KafkaWatch
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.roles import Role
from streambed.kinds.components.site import Site
from streambed.kinds.declaring import Name, Setting, declared
from streambed.plan import OnExit, PlannedFile, ProcessSpec
from streambed.units import Size
from streambed.world import Missing, World

HEAP_BYTES, STOCK_HEAP_BYTES = 128 << 20, 1 << 30
CONTROLLERS = (1, 3, 5)
"""Sizes of a quorum: an odd number, of which a majority must live."""
STOCK_FLAGS = (
    "-Xmx1g",
    "-Xms1g",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
)
"""What Kafka's own start script gives the JVM."""


@declared
class Kafka(ComponentBase):
    """A Kafka cluster: one broker on each of `nodes`, and a quorum of controllers among them or on
    hosts of their own.
    """

    needs: ClassVar[Needs] = ("kafka",)

    kind: Literal["kafka"] = "kafka"
    name: Name
    nodes: tuple[str, ...] = ()
    """The hosts, each with one broker."""
    place: Placed = None
    """How the hosts are chosen if `nodes` does not name them."""
    controllers: tuple[str, ...] = ()
    """The 1, 3 or 5 nodes that vote, brokers or not; default: the first broker, or the first three
    where there are as many.
    """
    topics: dict[Name, Topic] = Field(default_factory=dict)
    placement: Literal["kafka", "balanced"] = "kafka"
    """Where the partitions of topics are that say nothing of it."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of Kafka's broker settings."""
    settings_of: dict[str, dict[str, Setting]] = Field(default_factory=dict)
    """Settings of single nodes, which go over those of all."""
    racks: dict[str, Name] = Field(default_factory=dict)
    """The rack of each node; Kafka spreads replicas over racks."""
    existing: str = ""
    """Servers of a cluster that exists already, which take the place of these brokers: see
    --bootstrap.
    """
    stock: bool = False
    """Kafka's own JVM flags and defaults, in place of those that let many brokers share a machine.
    """
    heap: Size | None = None
    """Java heap of each server; default: 128 MiB, or 1 GiB if stock."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "fail"
    host_keys: ClassVar[tuple[str, ...]] = ("nodes",)
    auto_place: ClassVar[AutoPlace] = "spread"
    takes_existing: ClassVar[tuple[ExistingCluster, ...]] = ("bootstrap",)
    sender: ClassVar[str] = SENDER
    reader: ClassVar[str] = READER

    @property
    def members(self) -> list[Member]:
        """Every server with its number: brokers from 1 on, then the controllers that are no
        brokers.
        """
        usual = self.nodes[:3] if len(self.nodes) >= 3 else self.nodes[:1]
        voters = self.controllers or usual
        nodes = [*self.nodes, *(node for node in voters if node not in self.nodes)]
        return [
            Member(
                number=number,
                node=node,
                broker=number <= len(self.nodes),
                controller=node in voters,
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
        """Itself."""
        return self

    @property
    def partitions(self) -> dict[str, int]:
        """Its topics, and how many partitions each has."""
        return {name: topic.partitions for name, topic in self.topics.items()}

    @property
    def server(self) -> bool:
        """Others wait for it."""
        return True

    @property
    def ports(self) -> tuple[int, ...]:
        """What a broker takes, and what it would take as a controller."""
        return (BROKER_PORT, CONTROLLER_PORT)

    @property
    def bootstrap(self) -> str:
        """What clients are given to find the cluster."""
        return self.existing or ",".join(f"{node}:{BROKER_PORT}" for node in self.nodes)

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """A topic needs its brokers, a quorum an odd number of nodes, and what is said of a node a
        node of the cluster.
        """
        if not self.nodes:
            return []  # That it lacks them, and why, is told by placement.
        wrong = [
            (f"topics.{name}.{key}", says)
            for name, topic in self.topics.items()
            for key, says in topic.problems(self.nodes)
        ]
        found = [Problem(key=key, says=says) for key, says in wrong]
        for key, nodes in (("nodes", self.nodes), ("controllers", self.controllers)):
            if len(set(nodes)) < len(nodes):
                found.append(
                    Problem(
                        key=key, says="a node is named twice: each runs one server of this cluster"
                    )
                )
        if self.controllers and len(self.controllers) not in CONTROLLERS:
            says = f"{len(self.controllers)} controllers cannot be: give 1, 3 or 5, so that a majority can be told"
            found.append(Problem(key="controllers", says=says))
        members = [member.node for member in self.members]
        for key, named in (("settings_of", self.settings_of), ("racks", self.racks)):
            strangers = [node for node in named if node not in members]
            found += [
                Problem(
                    key=f"{key}.{node}",
                    says=f"'{node}' is no node of this cluster. {suggestion(node, members)}",
                )
                for node in strangers
            ]
        return found

    def answers(self, data: Path) -> dict[str, str]:
        """References to it."""
        return {"bootstrap": self.bootstrap}

    def processes(self, site: Site) -> list[ProcessSpec]:
        """One server for each node."""
        return [] if self.existing else [self._process(site, member) for member in self.members]

    def _process(self, site: Site, member: Member) -> ProcessSpec:
        home = site.data(self.name) / member.node
        rack: dict[str, Setting] = (
            {"broker.rack": self.racks[member.node]} if member.node in self.racks else {}
        )
        settings = {**rack, **self.settings, **self.settings_of.get(member.node, {})}
        text = properties(
            member, self.members, log=f"{home}/log", stock=self.stock, settings=settings
        )
        files = (
            PlannedFile(path=f"{home}/server.properties", text=text),
            PlannedFile(path=f"{home}/logging.properties", text=LOGGING),
            PlannedFile(
                path=f"{home}/log/meta.properties",
                text=identity(site.seed, self.name, member.number),
            ),
            PlannedFile(
                path=f"{home}/log/bootstrap.checkpoint", source=str(artifacts.checkpoint_path())
            ),
        )
        return ProcessSpec(
            name=f"{self.name}/{member.node}",
            component=self.name,
            node=member.node,
            argv=(
                *self._java(site),
                f"-Dlog4j2.configurationFile={home}/logging.properties",
                "kafka.Kafka",
                f"{home}/server.properties",
            ),
            env=site.variables(self.name, member.node, self.bootstrap),
            cwd=str(home),
            files=files,
            on_exit=self.on_exit,
            heap_bytes=self.heap.bytes
            if self.heap
            else STOCK_HEAP_BYTES
            if self.stock
            else HEAP_BYTES,
        )

    def _java(self, site: Site) -> list[str]:
        heap = [f"-Xmx{self.heap.bytes >> 20}m"] if self.heap else []
        if self.stock:
            return [*artifacts.kafka_command(site.java, flags=STOCK_FLAGS, archive=False), *heap]
        return [*artifacts.kafka_command(site.java), *heap]

    def cluster(self, world: World) -> KafkaCluster:
        """The client through which this world asks the cluster; it lives on the first broker's
        host.
        """
        client = ExistingKafka if self.existing else KafkaCluster
        return world.keep(
            f"kafka cluster {self.name}",
            lambda: world.call(self.nodes[0], lambda: client(self.bootstrap)),
        )

    def readiness(self, world: World) -> Missing:
        """Ready when every broker has registered and every partition of every topic has a leader
        and all replicas in sync.
        """
        cluster = self.cluster(world)
        topics = wanted(self.topics, self.nodes, self.placement)

        def missing() -> str:
            lacking = cluster.missing(brokers=len(self.nodes), topics=topics)
            return lacking and lacking + self._why_no_quorum(world)

        return missing

    def _why_no_quorum(self, world: World) -> str:
        """Without a leader among the controllers no broker is let in: that none was elected is what
        to look at then.
        """
        if self.existing or self.quorum_leader(world):
            return ""
        voters = ", ".join(member.node for member in self.members if member.controller)
        return f"; no controller has been elected (one of {voters} should be): a majority of the voters must live and reach each other"

    def role_holder(self, role: Role, world: World) -> str:
        """The broker process that holds a role now; WorldError if nobody does."""
        led = self._quorum(world) if role.kind == "controller" else self._leader(role, world)
        if led is None:
            raise WorldError(f"no broker of {self.name} tells who is {role} at this moment")
        if led[1] < 1:
            raise WorldError(f"no broker of {self.name} is {role} at this moment")
        return f"{self.name}/{self.members[led[1] - 1].node}"

    def _leader(self, role: Role, world: World) -> Led | None:
        """The leader by the newest epoch that any broker knows of."""
        topic = role.of if role.kind == "leader" else "__consumer_offsets"
        views = [view.get(topic, {}) for view in self.views(world, [topic])]
        partitions = max(map(len, views), default=0)
        if not partitions:
            return None
        part = (
            role.partition
            if role.kind == "leader"
            else protocol.coordinating_partition(role.of, partitions)
        )
        return max(
            ((view[part].epoch, view[part].leader) for view in views if part in view), default=None
        )

    def views(self, world: World, topics: Sequence[str]) -> list[protocol.View]:
        """How every broker that answers sees these topics, asked inside its own host: no cut of the
        network hides it from us.
        """
        doors = self._doors(world, self.nodes, BROKER_PORT)
        return [
            protocol.view(answer)
            for answer in protocol.answers(doors, protocol.view_request(topics))
        ]

    def quorum_leader(self, world: World) -> str:
        """The node whose controller leads the quorum now; empty if none does."""
        led = self._quorum(world)
        return self.members[led[1] - 1].node if led and led[1] > 0 else ""

    def _quorum(self, world: World) -> Led | None:
        voters = tuple(member.node for member in self.members if member.controller)
        doors = self._doors(world, voters, CONTROLLER_PORT)
        answers = protocol.answers(doors, protocol.quorum_request())
        return max(filter(None, map(protocol.quorum_leader, answers)), default=None)

    def _doors(self, world: World, nodes: tuple[str, ...], port: int) -> Iterator[socket.socket]:
        """A connection to each broker that can answer, made inside its own host."""
        for node in (node for node in nodes if not world.find(f"{self.name}/{node}").paused):
            try:
                yield world.call(
                    node, lambda: socket.create_connection((node, port), protocol.ANSWER_LIMIT_S)
                )
            except OSError:
                continue  # It is dead: the others know.

    def watch(self, world: World) -> Watched:
        """Ask every broker once: what changed since the last time, and how things are."""
        if self.existing:
            return Watched()  # Its servers are on hosts of others.
        nodes = {member.number: member.node for member in self.members}
        watch = world.keep(
            f"kafka watch {self.name}", lambda: KafkaWatch(self.name, nodes, self.nodes)
        )
        changes = tuple(
            watch.changes(self.views(world, list(self.topics)), self.quorum_leader(world))
        )
        return Watched(events=changes, samples=tuple(watch.samples()))

    def end_positions(self, world: World) -> Ends:
        """The ends of all partitions; None for one that has no leader now."""
        return self.cluster(world).end_offsets(list(self.topics)) if self.topics else {}

    def client(self, settings: Mapping[str, Setting]) -> dict[str, str]:
        """Settings of librdkafka."""
        return client_settings(self.bootstrap, settings)

    def client_problems(self, client: Any) -> list[Problem]:
        """Readers may not decide when offsets are stored."""
        return offset_store_problems(client.settings) if client.readers else []

    def read_back(self, site: Site, topics: tuple[str, ...], name: str) -> ProcessSpec:
        """A consumer without a group, on the first broker's host."""
        return witness(site, self, self.nodes[0], topics, name)

    @property
    def existing_address(self) -> str:
        """The servers of a cluster that exists already."""
        return self.existing

    def on_existing(self, cluster: ExistingCluster, address: str) -> Kafka:
        """The same topics on another cluster."""
        return replace(self, existing=address) if cluster == "bootstrap" else self

    @property
    def box_reason(self) -> str:
        """Its brokers need hosts, unless others run them."""
        if self.existing:
            return ""
        return "its brokers need emulated hosts, and there is no box here: name others with --bootstrap"

    def timers(self) -> dict[str, tuple[Setting, bool]]:
        """The settings that decide how a fault ends, and whether each was declared."""
        settings = {
            name: (self.settings.get(name, usual), name in self.settings)
            for name, usual in TIMERS.items()
        }
        least = {
            f"min.insync.replicas of {name}": topic.config for name, topic in self.topics.items()
        }
        usual = settings["min.insync.replicas"][0]
        return settings | {
            name: (config.get("min.insync.replicas", usual), "min.insync.replicas" in config)
            for name, config in least.items()
        }
