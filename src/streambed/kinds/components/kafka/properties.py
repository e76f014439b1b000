"""The files of a Kafka server: its properties, its identity, and its logging."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streambed.kinds.declaring import Setting, setting_text
from streambed.plan import DOMAIN

BROKER_PORT = 9092
CONTROLLER_PORT = 9093
NAME_LENGTH_SAFE = 7
FEW_THREADS: dict[str, Setting] = {
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
"""For many brokers on one machine: one core's worth of threads and small buffers each."""
STOCK_FLAGS = (
    "-Xmx1g",
    "-Xms1g",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
)
"""The JVM flags of Kafka's own start script."""
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
"""Kafka's defaults of the settings that decide who takes over after a fault, and when."""
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


@dataclass(frozen=True, kw_only=True)
class Member:
    """A server of the cluster: a broker, a controller, or both."""

    number: int
    node: str
    broker: bool
    controller: bool
    port: int = BROKER_PORT
    controller_port: int = CONTROLLER_PORT

    @property
    def roles(self) -> str:
        """The value of process.roles."""
        roles = {"broker": self.broker, "controller": self.controller}
        return ",".join(name for name, has_role in roles.items() if has_role)


def advertised_name(node: str) -> str:
    """The host name that a broker advertises to clients, with the domain if it is short.

    librdkafka sizes its buffer for metadata by the length of the answer. One with many brokers that
    have short names does not fit, and is refused as malformed. Seven characters always fit.
    """
    return node if len(node) >= NAME_LENGTH_SAFE else f"{node}.{DOMAIN}"


def properties(
    member: Member,
    members: Sequence[Member],
    *,
    log: str,
    stock: bool,
    settings: Mapping[str, Setting],
) -> str:
    """The server.properties of one member; `settings` win over everything else."""
    voters = [
        f"{other.number}@{other.node}:{other.controller_port}"
        for other in members
        if other.controller
    ]
    copies = min(3, sum(other.broker for other in members))
    chosen: dict[str, Setting] = {
        "process.roles": member.roles,
        "node.id": member.number,
        **_listeners(member),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "controller.quorum.voters": ",".join(voters),
        "log.dirs": log,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": 1,
        **({} if stock else FEW_THREADS),
        **settings,
    }
    return "".join(f"{key}={setting_text(setting)}\n" for key, setting in chosen.items())


def _listeners(member: Member) -> dict[str, Setting]:
    """Where a member listens, and what a broker advertises."""
    controller = f"CONTROLLER://{member.node}:{member.controller_port}"
    if not member.broker:
        return {"listeners": controller}
    broker = f"PLAINTEXT://{member.node}:{member.port}"
    return {
        "listeners": f"{broker},{controller}" if member.controller else broker,
        "advertised.listeners": f"PLAINTEXT://{advertised_name(member.node)}:{member.port}",
        "inter.broker.listener.name": "PLAINTEXT",
    }


def identity(seed: int, cluster: str, number: int) -> str:
    """The meta.properties that formatting would write, derived from the seed to be repeatable."""
    lines = [
        "version=1",
        f"cluster.id={_uuid(seed, cluster)}",
        f"node.id={number}",
        f"directory.id={_uuid(seed, f'{cluster} {number}')}",
    ]
    return "\n".join(lines) + "\n"


def _uuid(seed: int, name: str) -> str:
    """128 bits in the base64 form that Kafka uses for its ids."""
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()[:16]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=").replace("-", "A")
