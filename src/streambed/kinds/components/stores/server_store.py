"""What all stores share: where they are found, what refers to them, and when they are ready."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from streambed.errors import Problem, ProcessError, QueryError, StoreError
from streambed.kinds.components.component import OnOneNode
from streambed.kinds.components.site import Site
from streambed.plan import PlannedFile
from streambed.record.orders import ServerSetupOrder
from streambed.stores.store import Address, connect
from streambed.stores.store import Store as Client
from streambed.world import Missing, World

OPEN_S = 0.3
Port = Annotated[int, Field(ge=1, le=65535)]


class OnePort(OnOneNode):
    """A store with one server on `node`, which listens on `port`."""

    name: str
    kind: str
    node: str
    port: int
    setup: tuple[str, ...]
    database: ClassVar[str] = ""
    """The one that it has from the start."""

    @property
    def server(self) -> bool:
        """Others wait for it."""
        return True

    @property
    def as_store(self) -> Self:
        """Itself."""
        return self

    @property
    def ports(self) -> tuple[int, ...]:
        """What it takes on its host."""
        return (self.port,)

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """Nothing can be wrong beside the others."""
        return []

    def store_address(self, data: Path) -> Address:
        """Where clients find it."""
        return Address(engine=self.kind, hosts=(self.node,), port=self.port, database=self.database)

    def answers(self, data: Path) -> dict[str, str]:
        """References to it."""
        return server_answers(self.node, self.port)

    def readiness(self, world: World) -> Missing:
        """Ready when it answers, and has carried out its `setup`."""
        return when_it_answers(world, self.name, self.store_address(world.directory), self.setup)


def server_answers(host: str, port: int) -> dict[str, str]:
    """What refers to a server."""
    return {"host": host, "port": str(port), "address": f"{host}:{port}"}


def with_setup(
    site: Site,
    process: str,
    *,
    home: Path,
    once: Sequence[Sequence[str]],
    stale: Sequence[str] = (),
    argv: Sequence[str],
) -> tuple[tuple[str, ...], PlannedFile]:
    """The command of a server whose folder must be prepared the first time, and the file that says
    how.
    """
    order = ServerSetupOrder(
        made=f"{home}/made",
        once=tuple(tuple(command) for command in once),
        stale=tuple(stale),
        argv=tuple(argv),
    )
    file = site.order(process, order)
    return (site.machine.python, "-m", "streambed.agents.server_setup", file.path), file


def when_it_answers(world: World, name: str, address: Address, setup: Sequence[str]) -> Missing:
    """Ready when a client on its own host got an answer; then, once, the statements of `setup`."""

    def carry_out(store: Client) -> str:
        for statement in setup:
            store.ask(statement)
        return ""

    return asked(world, name, address, carry_out)


def asked(world: World, name: str, address: Address, question: Callable[[Client], str]) -> Missing:
    """What is still missing until a store answers and a question, put by a client on its own host,
    finds nothing missing either.
    """

    def ask() -> str:
        # Whether the port is open is tried first, which costs far less than a client.
        socket.create_connection((address.hosts[0], address.port), OPEN_S).close()
        store = connect(address)
        try:
            return question(store)
        finally:
            store.close()

    def missing() -> str:
        try:
            return world.call(address.hosts[0], ask)
        except (OSError, StoreError) as error:
            return f"it does not answer: {error}"
        except QueryError as error:
            raise ProcessError(f"{name} refused its setup: {error}") from error

    return missing
