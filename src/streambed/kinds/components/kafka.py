"""Kafka: brokers and controllers in KRaft mode, with their topics."""

from __future__ import annotations

import base64
import hashlib
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from streambed import artifacts
from streambed.errors import Problem, WorldError, suggestion
from streambed.kinds.components import kafka_questions
from streambed.kinds.components.component import Site
from streambed.kinds.components.kafka_cluster import KafkaCluster, Wanted
from streambed.kinds.components.kafka_questions import Led
from streambed.kinds.components.roles import Role
from streambed.kinds.declaring import Name, Setting, declared, setting_text
from streambed.plan import OnExit, PlannedFile, ProcessSpec
from streambed.units import Size
from streambed.world import Missing, World

BROKER_PORT = 9092
CONTROLLER_PORT = 9093
CONTROLLERS_MAX = 3
FEW_THREADS: dict[str, Setting] = {  # Many brokers share one machine: one core's worth of threads and small buffers each.
    "num.network.threads": 1,
    "num.io.threads": 2,
    "num.replica.fetchers": 1,
    "num.recovery.threads.per.data.dir": 1,
    "background.threads": 1,
    "group.coordinator.threads": 1,
    "share.coordinator.threads": 1,
    "log.cleaner.threads": 1,
    "log.cleaner.dedupe.buffer.size": 2 << 20,
    "log.cleaner.io.buffer.size": 64 << 10,
    "log.index.size.max.bytes": 64 << 10,
    "log.segment.bytes": 16 << 20,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.num.partitions": 4,
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": False,
}
TIMERS: dict[str, Setting] = {
    "broker.session.timeout.ms": 9000,
    "broker.heartbeat.interval.ms": 2000,
    "replica.lag.time.max.ms": 30000,
    "controller.quorum.election.timeout.ms": 1000,
    "controller.quorum.fetch.timeout.ms": 2000,
    "controller.quorum.request.timeout.ms": 2000,
    "unclean.leader.election.enable": False,
    "min.insync.replicas": 1,
}
"""Kafka's own defaults of the settings that decide who takes over after a fault, and when."""
LOGGING = """status = warn
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1} %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
logger.server.name = kafka.server.KafkaRaftServer
logger.server.level = info
"""


@declared
class Topic:
    """A topic and how it is kept."""

    partitions: Annotated[int, Field(ge=1, le=10_000)] = 1
    replicas: Annotated[int, Field(ge=1, le=1_000)] = 1
    leaders: tuple[str, ...] = ()
    """The nodes that lead its partitions at first, in turn; replicas follow in the order of the cluster's nodes. Empty: Kafka decides."""
    config: dict[str, Setting] = Field(default_factory=dict)
    """Any of Kafka's topic settings."""


@declared
class Kafka:
    """A Kafka cluster: one broker on each of `nodes`; the first one or three are controllers as well."""

    kind: Literal["kafka"] = "kafka"
    name: Name
    nodes: Annotated[tuple[str, ...], Field(min_length=1)]
    topics: dict[Name, Topic] = Field(default_factory=dict)
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of Kafka's broker settings."""
    heap: Size = Size(128 << 20)
    """Java heap of each broker."""
    on_exit: OnExit = "fail"

    @property
    def places(self) -> dict[str, str]:
        """The key that names each node."""
        return {f"nodes.{number}": node for number, node in enumerate(self.nodes)}

    @property
    def server(self) -> bool:
        """Others wait for it."""
        return True

    @property
    def needs(self) -> tuple[str, ...]:
        """Kafka's jars."""
        return ("kafka",)

    @property
    def bootstrap(self) -> str:
        """What clients are given to find the cluster."""
        return ",".join(f"{node}:{BROKER_PORT}" for node in self.nodes)

    @property
    def controllers(self) -> tuple[str, ...]:
        """The nodes that vote: an odd number, so that one loss can be borne from three on."""
        return self.nodes[:CONTROLLERS_MAX] if len(self.nodes) >= CONTROLLERS_MAX else self.nodes[:1]

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """A topic cannot have more replicas than there are brokers, nor leaders elsewhere."""
        found = [Problem(key=f"topics.{name}.{key}", says=says) for name, topic in self.topics.items() for key, says in self._wrong(topic)]
        if len(set(self.nodes)) < len(self.nodes):
            found.append(Problem(key="nodes", says="a node is named twice: each runs one broker of this cluster"))
        return found

    def _wrong(self, topic: Topic) -> Iterator[tuple[str, str]]:
        brokers = len(self.nodes)
        if topic.replicas > brokers:
            yield "replicas", f"{topic.replicas} replicas need as many brokers, but there are {brokers}: add nodes or ask for fewer"
        if len(topic.leaders) > topic.partitions:
            yield "leaders", f"there are {len(topic.leaders)}, but the topic has {topic.partitions} partitions: one leads each"
        for at, node in enumerate(topic.leaders):
            if node not in self.nodes:
                yield f"leaders.{at}", f"'{node}' is no node of this cluster. {suggestion(node, self.nodes)}"

    def answers(self) -> dict[str, str]:
        """References to it."""
        return {"bootstrap": self.bootstrap}

    def processes(self, site: Site) -> list[ProcessSpec]:
        """One broker for each node."""
        return [self._broker(site, number, node) for number, node in enumerate(self.nodes, 1)]

    def _broker(self, site: Site, number: int, node: str) -> ProcessSpec:
        home = site.data(self.name) / node
        files = (
            PlannedFile(path=f"{home}/server.properties", text=self._properties(number, node, home)),
            PlannedFile(path=f"{home}/logging.properties", text=LOGGING),
            PlannedFile(path=f"{home}/log/meta.properties", text=_identity(site.seed, self.name, number)),
            PlannedFile(path=f"{home}/log/bootstrap.checkpoint", source=str(artifacts.checkpoint_path())),
        )
        options = (f"-Xmx{self.heap.bytes >> 20}m", f"-Dlog4j2.configurationFile={home}/logging.properties")
        return ProcessSpec(
            name=f"{self.name}/{node}",
            component=self.name,
            node=node,
            argv=(*artifacts.kafka_command(site.java), *options, "kafka.Kafka", f"{home}/server.properties"),
            env=site.variables(self.name, node, self.bootstrap),
            cwd=str(home),
            files=files,
            on_exit=self.on_exit,
        )

    def _properties(self, number: int, node: str, home: Path) -> str:
        votes = node in self.controllers
        listeners = [f"PLAINTEXT://{node}:{BROKER_PORT}"] + [f"CONTROLLER://{node}:{CONTROLLER_PORT}"] * votes
        copies = min(3, len(self.nodes))
        settings: dict[str, Setting] = {
            "process.roles": "broker,controller" if votes else "broker",
            "node.id": number,
            "listeners": ",".join(listeners),
            "advertised.listeners": listeners[0],
            "inter.broker.listener.name": "PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "controller.quorum.voters": ",".join(f"{at}@{voter}:{CONTROLLER_PORT}" for at, voter in enumerate(self.controllers, 1)),
            "log.dirs": f"{home}/log",
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": 1,
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": 1,
            **FEW_THREADS,
            **self.settings,
        }
        return "".join(f"{key}={setting_text(setting)}\n" for key, setting in settings.items())

    def cluster(self, world: World) -> KafkaCluster:
        """The client through which this world asks the cluster; it lives on the first broker's host."""
        return world.keep(f"kafka cluster {self.name}", lambda: world.call(self.nodes[0], lambda: KafkaCluster(self.bootstrap)))

    def readiness(self, world: World) -> Missing:
        """Ready when every broker has registered and every partition of every topic has a leader."""
        cluster = self.cluster(world)
        wanted = {name: self._wanted(topic) for name, topic in self.topics.items()}
        return lambda: cluster.missing(brokers=len(self.nodes), topics=wanted)

    def _wanted(self, topic: Topic) -> Wanted:
        config = {key: setting_text(value) for key, value in topic.config.items()}
        firsts = [self.nodes.index(topic.leaders[part % len(topic.leaders)]) for part in range(topic.partitions) if topic.leaders]
        placed = [[(first + step) % len(self.nodes) + 1 for step in range(topic.replicas)] for first in firsts]
        return Wanted(partitions=topic.partitions, replicas=topic.replicas, config=config, placed=placed)

    def holder(self, role: Role, world: World) -> str:
        """The broker process that holds a role now; WorldError if nobody does."""
        led = self._quorum(world) if role.kind == "controller" else self._leader(role, world)
        if led is None:
            raise WorldError(f"no broker of {self.name} tells who is {role} at this moment")
        if led[1] < 1:
            raise WorldError(f"no broker of {self.name} is {role} at this moment")
        return f"{self.name}/{self.nodes[led[1] - 1]}"

    def _leader(self, role: Role, world: World) -> Led | None:
        """The leader by the newest epoch that any broker knows of."""
        topic = role.of if role.kind == "leader" else "__consumer_offsets"
        request = kafka_questions.leaders_request(topic)
        views = [
            kafka_questions.leaders(answer) for answer in kafka_questions.answers(self._doors(world, self.nodes, BROKER_PORT), request)
        ]
        partitions = max(map(len, views), default=0)
        if not partitions:
            return None
        part = role.partition if role.kind == "leader" else kafka_questions.coordinating_partition(role.of, partitions)
        return max((view[part] for view in views if part in view), default=None)

    def _quorum(self, world: World) -> Led | None:
        doors = self._doors(world, self.controllers, CONTROLLER_PORT)
        answers = kafka_questions.answers(doors, kafka_questions.quorum_request())
        return max(filter(None, map(kafka_questions.quorum_leader, answers)), default=None)

    def _doors(self, world: World, nodes: tuple[str, ...], port: int) -> Iterator[socket.socket]:
        """A connection to each broker that can answer, made inside its own host."""
        for node in (node for node in nodes if not world.find(f"{self.name}/{node}").paused):
            try:
                yield world.call(node, lambda: socket.create_connection((node, port), kafka_questions.ANSWER_LIMIT_S))  # noqa: B023
            except OSError:
                continue  # It is dead: the others know.

    def timers(self) -> dict[str, tuple[Setting, bool]]:
        """The settings that decide how a fault ends, and whether each was declared."""
        settings = {name: (self.settings.get(name, usual), name in self.settings) for name, usual in TIMERS.items()}
        least = {f"min.insync.replicas of {name}": topic.config for name, topic in self.topics.items()}
        usual = settings["min.insync.replicas"][0]
        return settings | {
            name: (config.get("min.insync.replicas", usual), "min.insync.replicas" in config) for name, config in least.items()
        }


def _identity(seed: int, cluster: str, number: int) -> str:
    """The meta.properties that formatting would write: made here from the seed, so that a run can be repeated."""

    def identity(of: str) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(f"{seed} {of}".encode()).digest()[:16]).decode().rstrip("=").replace("-", "A")

    return f"version=1\ncluster.id={identity(cluster)}\nnode.id={number}\ndirectory.id={identity(f'{cluster} {number}')}\n"
