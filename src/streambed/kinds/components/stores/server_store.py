"""What stores with a server share: their address, their process, and when they are ready."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

from streambed.errors import Problem, ProcessError, QueryError, StoreError
from streambed.kinds.components.component import OnOneNode
from streambed.kinds.components.plan_context import Loopback, PlanContext
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Setting, setting_text
from streambed.kinds.disks import IN_PLACE
from streambed.plan import OnExit, PlannedFile, ProcessSpec
from streambed.record.orders import ServerSetupOrder
from streambed.stores.store import Address, connect
from streambed.stores.store import Store as Client
from streambed.world import Missing, World

CONNECT_LIMIT_S = 0.3


class OnePort(OnOneNode):
    """A store with one server on `node`, which listens on `port`."""

    name: str
    kind: str
    node: str
    port: int
    setup: tuple[str, ...]
    settings: dict[str, Setting]
    on_exit: OnExit
    runs_on_loopback: ClassVar[bool] = True
    listens_on: ClassVar[str]
    """The setting that names the address to listen on."""
    database: ClassVar[str] = ""
    """The database that the server has from the start."""

    power_failure_refusal: ClassVar[str] = IN_PLACE

    syncs_by: ClassVar[tuple[str, Setting]] = ("", "")
    """The setting that is off here by default so that it does not sync, and what turns it on."""

    @property
    def no_syncs(self) -> str:
        """It does not sync unless its settings say so."""
        key, on = self.syncs_by
        if not key or setting_text(self.settings.get(key, "")) not in ("", "false", "off", "no"):
            return ""
        return f"it does not sync its files: give it `settings: {{{key}: {setting_text(on)}}}`"

    @property
    def disks(self) -> dict[str, str]:
        """The whole folder of the server."""
        return {self.node: ""}

    @property
    def server(self) -> bool:
        """Components that use the store start once it is ready."""
        return True

    @property
    def as_store(self) -> Self:
        """It can be queried, and sinks can write it."""
        return self

    @property
    def ports(self) -> tuple[int, ...]:
        """The one port that it listens on."""
        return (self.port,)

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """It depends on no other component."""
        return []

    def on_loopback(self, loopback: Loopback) -> Self:
        """The same server and `setup`, listening on the loopback address."""
        changes: dict[str, Any] = {
            "node": Loopback.host,
            "port": loopback.ports[0],
            "setup": () if loopback.has_data else self.setup,
            "settings": {**self.settings, self.listens_on: Loopback.address},
            "limits": None,
        }
        return replace(self, **changes)  # type: ignore[type-var]  # Every kind is a dataclass.

    def store_address(self, data: Path) -> Address:
        """The host, the port and the database, as clients need them."""
        return Address(engine=self.kind, hosts=(self.node,), port=self.port, database=self.database)

    def answers(self, data: Path) -> dict[str, str]:
        """{NAME.host}, {NAME.port} and {NAME.address}."""
        return server_answers(self.node, self.port)

    def readiness(self, world: World) -> Missing:
        """Ready when it answers and its `setup` statements have run."""
        return when_set_up(world, self.name, self.store_address(world.directory), self.setup)

    def server_process(
        self, context: PlanContext, argv: Sequence[str], files: tuple[PlannedFile, ...] = ()
    ) -> ProcessSpec:
        """The server's process, which runs in the component's folder."""
        return ProcessSpec(
            name=self.name,
            component=self.name,
            node=self.node,
            argv=tuple(argv),
            env=context.variables(self.name, self.node, context.bootstrap_for()),
            cwd=str(context.data(self.name)),
            files=files,
            on_exit=self.on_exit,
        )


def server_answers(host: str, port: int) -> dict[str, str]:
    """The references that every server has: host, port, and both as one address."""
    return {"host": host, "port": str(port), "address": f"{host}:{port}"}


def setup_command(
    context: PlanContext,
    process: str,
    *,
    home: Path,
    once: Sequence[Sequence[str]],
    stale: Sequence[str] = (),
    argv: Sequence[str],
) -> tuple[tuple[str, ...], PlannedFile]:
    """The command that prepares a server's folder and then runs it, and the file it reads.

    The commands in `once` run at the first start only. Files in `stale` are removed at each start.
    """
    order = ServerSetupOrder(
        made=f"{home}/made",
        once=tuple(tuple(command) for command in once),
        stale=tuple(stale),
        argv=tuple(argv),
    )
    file = context.order(process, order)
    return (context.machine.python, "-m", "streambed.agents.server_setup", file.path), file


def when_set_up(world: World, name: str, address: Address, setup: Sequence[str]) -> Missing:
    """Ready when the store answers and the statements of `setup` have run, once."""

    def run_setup(store: Client) -> str:
        for statement in setup:
            store.ask(statement)
        return ""

    return when_probe_passes(world, name, address, run_setup)


def when_probe_passes(
    world: World, name: str, address: Address, probe: Callable[[Client], str]
) -> Missing:
    """Ready when the store answers and `probe` says that nothing is missing.

    The probe gets a client on the store's own host, so that no link slows it down.
    """

    def connect_and_probe() -> str:
        # Try the port first: that costs far less than a client.
        socket.create_connection((address.hosts[0], address.port), CONNECT_LIMIT_S).close()
        store = connect(address)
        try:
            return probe(store)
        finally:
            store.close()

    def missing() -> str:
        try:
            return world.call(address.hosts[0], connect_and_probe)
        except (OSError, StoreError) as error:
            return f"it does not answer: {error}"
        except QueryError as error:
            raise ProcessError(f"{name} refused its setup: {error}") from error

    return missing
