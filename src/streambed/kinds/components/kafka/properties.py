"""What a Kafka server is told: its properties, its identity, and how it logs."""

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
FEW_THREADS: dict[
    str, Setting
] = {  # Many brokers share one machine: one core's worth of threads and small buffers each.
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


@dataclass(frozen=True, kw_only=True)
class Member:
    """A server of the cluster: a broker, a controller, or both."""

    number: int
    node: str
    broker: bool
    controller: bool

    @property
    def roles(self) -> str:
        """What it is to the cluster."""
        return ",".join(
            name
            for name, is_one in (("broker", self.broker), ("controller", self.controller))
            if is_one
        )


def advertised(node: str) -> str:
    """The name by which clients are told to find a broker: with the domain where it is short.

    librdkafka takes room for an answer about the cluster by its length, and that of many brokers
    with short names does not fit in: such an answer is refused as malformed. Names of seven
    characters and more fit always.
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
    """The server.properties of one member; `settings` go over all else."""
    brokers = sum(other.broker for other in members)
    voters = [
        f"{other.number}@{other.node}:{CONTROLLER_PORT}" for other in members if other.controller
    ]
    client, quorum = (
        f"PLAINTEXT://{member.node}:{BROKER_PORT}",
        f"CONTROLLER://{member.node}:{CONTROLLER_PORT}",
    )
    copies = min(3, brokers)
    of_broker: dict[str, Setting] = {
        "advertised.listeners": f"PLAINTEXT://{advertised(member.node)}:{BROKER_PORT}",
        "inter.broker.listener.name": "PLAINTEXT",
    }
    chosen: dict[str, Setting] = {
        "process.roles": member.roles,
        "node.id": member.number,
        "listeners": ",".join([client] * member.broker + [quorum] * member.controller),
        **(of_broker if member.broker else {}),
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


def identity(seed: int, cluster: str, number: int) -> str:
    """The meta.properties that formatting would write: made here from the seed, so that a run can
    be repeated.
    """

    def digest(of: str) -> str:
        return (
            base64.urlsafe_b64encode(hashlib.sha256(f"{seed} {of}".encode()).digest()[:16])
            .decode()
            .rstrip("=")
            .replace("-", "A")
        )

    return f"version=1\ncluster.id={digest(cluster)}\nnode.id={number}\ndirectory.id={digest(f'{cluster} {number}')}\n"
