"""Cassandra: a ring of up to three nodes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from streambed import artifacts
from streambed.errors import Problem
from streambed.kinds.components.component import ComponentBase, Needs
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.plan_context import Loopback, PlanContext
from streambed.kinds.components.stores.server_store import (
    server_answers,
    when_probe_passes,
    when_set_up,
)
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Name, Port, Setting, declared
from streambed.kinds.disks import IN_PLACE
from streambed.plan import OnExit, PlannedFile, ProcessSpec
from streambed.stores.store import Address
from streambed.stores.store import Store as Client
from streambed.units import Size
from streambed.world import Missing, World

KEYSPACE = "streambed"
SMALL: dict[str, Any] = {
    "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
    "endpoint_snitch": "SimpleSnitch",
    # All nodes start together and empty, so there is no data to stream to a new node.
    "auto_bootstrap": False,
    "commitlog_sync": "periodic",
    "commitlog_sync_period": "10000ms",
    "commitlog_segment_size": "4MiB",
    "commitlog_total_space": "64MiB",
    "memtable_heap_space": "16MiB",
    "memtable_offheap_space": "16MiB",
    "memtable_allocation_type": "heap_buffers",
    "concurrent_reads": 4,
    "concurrent_writes": 4,
    "concurrent_counter_writes": 2,
    "concurrent_compactors": 1,
    "native_transport_max_threads": 16,
    "file_cache_size": "16MiB",
    "key_cache_size": "2MiB",
    "row_cache_size": "0MiB",
    "counter_cache_size": "1MiB",
    "networking_cache_size": "8MiB",
    "disk_access_mode": "mmap_index_only",
    "dynamic_snitch": False,
}
"""Settings for many servers on one machine."""
LOGGING = """<configuration>
  <appender name="console" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{HH:mm:ss.SSS} %-5level %logger{0} %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="console"/></root>
  <logger name="org.apache.cassandra.service.CassandraDaemon" level="INFO"/>
</configuration>
"""


@declared
class Cassandra(ComponentBase):
    """Cassandra 5.0, one server on each of `nodes`, with the keyspace `streambed`.

    Clients need no password.
    """

    needs: ClassVar[Needs] = ("cassandra",)

    kind: Literal["cassandra"] = "cassandra"
    name: Name
    nodes: Annotated[tuple[str, ...], Field(max_length=3)] = ()
    """The hosts, each with one server."""
    place: Placed = None
    """How the hosts are chosen if `nodes` does not name them."""
    port: Port = 9042
    gossip_port: Port = 7000
    """The port for the other nodes."""
    replicas: Annotated[int, Field(ge=1, le=3)] = 1
    """How many nodes keep each row of the keyspace."""
    heap: Size = Size(192 << 20)
    """Java heap of each server."""
    setup: tuple[str, ...] = ()
    """Statements to run in the keyspace once it answers, before its users start."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of the settings of cassandra.yaml."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"
    power_failure_refusal: ClassVar[str] = IN_PLACE
    host_keys: ClassVar[tuple[str, ...]] = ("nodes",)
    runs_on_loopback: ClassVar[bool] = True

    @property
    def as_store(self) -> Cassandra:
        """It can be queried, and sinks can write it."""
        return self

    @property
    def places(self) -> dict[str, str]:
        """The key that names each node."""
        return {f"nodes.{number}": node for number, node in enumerate(self.nodes)}

    @property
    def server(self) -> bool:
        """Components that use the store start once it is ready."""
        return True

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports for clients and for the other nodes."""
        return (self.port, self.gossip_port)

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """Each node may be named once, and there must be a node for each replica."""
        wrong = []
        if len(set(self.nodes)) < len(self.nodes):
            says = "a node is named twice: each runs one server of this ring"
            wrong.append(Problem(key="nodes", says=says))
        if self.nodes and self.replicas > len(self.nodes):
            says = (
                f"{self.replicas} replicas need as many nodes, and it has {len(self.nodes)}: "
                "add nodes or ask for fewer"
            )
            wrong.append(Problem(key="replicas", says=says))
        return wrong

    def on_loopback(self, loopback: Loopback) -> Cassandra:
        """A ring of one; the planner gives its address, which is where it listens."""
        port, gossip_port = loopback.ports
        return replace(
            self,
            nodes=(Loopback.host,),
            port=port,
            gossip_port=gossip_port,
            replicas=1,
            setup=() if loopback.has_data else self.setup,
            limits=None,
        )

    @property
    def disks(self) -> dict[str, str]:
        """The folder of each node."""
        return {node: node for node in self.nodes}

    def answers(self, data: Path) -> dict[str, str]:
        """The usual references to the first node, {NAME.hosts} for all, and {NAME.keyspace}."""
        return {
            **server_answers(self.nodes[0] if self.nodes else "", self.port),
            "hosts": ",".join(self.nodes),
            "keyspace": KEYSPACE,
        }

    def store_address(self, data: Path) -> Address:
        """All nodes and the keyspace."""
        return Address(engine="cassandra", hosts=self.nodes, port=self.port, database=KEYSPACE)

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """One server for each node."""
        return [self._server(context, number, node) for number, node in enumerate(self.nodes)]

    def _server(self, context: PlanContext, number: int, node: str) -> ProcessSpec:
        home = context.data(self.name) / node
        files = (
            PlannedFile(
                path=f"{home}/cassandra.yaml",
                text=json.dumps(self._settings(context, number, node, home), indent=1),
            ),
            PlannedFile(path=f"{home}/logback.xml", text=LOGGING),
        )
        options = (
            f"-Xmx{self.heap.bytes >> 20}m",
            f"-Dcassandra.config=file://{home}/cassandra.yaml",
            f"-Dlogback.configurationFile={home}/logback.xml",
            f"-Dcassandra.storagedir={home}",
        )
        return ProcessSpec(
            name=f"{self.name}/{node}",
            component=self.name,
            node=node,
            argv=(*artifacts.cassandra_command(context.java), *options, artifacts.CASSANDRA_MAIN),
            env=context.variables(self.name, node, context.bootstrap_for()),
            cwd=str(home),
            files=files,
            on_exit=self.on_exit,
            heap_bytes=self.heap.bytes,
        )

    def _settings(self, context: PlanContext, number: int, node: str, home: Path) -> dict[str, Any]:
        """The content of cassandra.yaml, written as JSON: JSON is YAML."""
        seeds = ",".join(f"{context.addresses[other]}:{self.gossip_port}" for other in self.nodes)
        # Each node gets an equal share of the ring.
        token = number * (1 << 64) // len(self.nodes) - (1 << 63)
        return {
            **SMALL,
            **self.settings,
            "cluster_name": self.name,
            "num_tokens": 1,
            "initial_token": str(token),
            "listen_address": context.addresses[node],
            "rpc_address": context.addresses[node],
            "native_transport_port": self.port,
            "storage_port": self.gossip_port,
            "seed_provider": [
                {
                    "class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
                    "parameters": [{"seeds": seeds}],
                }
            ],
            "data_file_directories": [f"{home}/tables"],
            **{
                f"{name}_directory": f"{home}/{name}"
                for name in ("commitlog", "saved_caches", "hints", "cdc_raw")
            },
        }

    def readiness(self, world: World) -> Missing:
        """Ready when every node answers and knows the others, and keyspace and `setup` are done."""
        replication = json.dumps(
            {"class": "SimpleStrategy", "replication_factor": self.replicas}
        ).replace('"', "'")
        statements = (
            f"create keyspace if not exists {KEYSPACE} with replication = {replication}",
            f"use {KEYSPACE}",
            *self.setup,
        )
        waits = [
            when_probe_passes(world, self.name, self._address_of(node), self._missing_peers)
            for node in self.nodes
        ]
        waits.append(when_set_up(world, self.name, self._address_of(self.nodes[0]), statements))

        def missing() -> str:
            while waits:
                if says := waits[0]():
                    return says
                del waits[0]
            return ""

        return missing

    def _missing_peers(self, store: Client) -> str:
        """How many peers a node does not know yet: rows written before that lack replicas."""
        ((known,),) = store.ask("select count(*) from system.peers_v2").rows
        others = len(self.nodes) - 1
        return "" if known >= others else f"a node knows {known} of {others} others"

    def _address_of(self, node: str) -> Address:
        return Address(engine="cassandra", hosts=(node,), port=self.port)
