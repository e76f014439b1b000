"""Embedded: a store without a server, a file that jobs and commands open themselves."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from streambed.errors import Problem, ProcessError, QueryError
from streambed.kinds.components.component import OnOneNode
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Name, declared
from streambed.plan import ProcessSpec
from streambed.stores.store import Address, connect
from streambed.world import Missing, World

FILES = {"sqlite": "store.sqlite", "duckdb": "store.duckdb", "rocksdb": "store.rocksdb"}


@declared
class Embedded(OnOneNode):
    """A SQLite or DuckDB file, or a RocksDB folder, on the disk of `node`."""

    kind: Literal["embedded"] = "embedded"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    engine: Literal["sqlite", "duckdb", "rocksdb"]
    setup: tuple[str, ...] = ()
    """Statements to run before the components that use it start."""

    box_reason: ClassVar[str] = ""

    @property
    def as_store(self) -> Embedded:
        """It can be queried, and sinks can write it."""
        return self

    def answers(self, data: Path) -> dict[str, str]:
        """{NAME.path}."""
        return {"path": str(data / self.file)}

    @property
    def server(self) -> bool:
        """Components that use the store start once its `setup` has run."""
        return True

    @property
    def limits(self) -> Limits | None:
        """None: it runs in the processes of its clients."""
        return None

    @property
    def file(self) -> str:
        """The name of the file or folder in the component's folder."""
        return FILES[self.engine]

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """RocksDB has no query language, so it can have no `setup`."""
        if self.setup and self.engine == "rocksdb":
            return [Problem(key="setup", says="rocksdb has no statements that could set it up")]
        return []

    def store_address(self, data: Path) -> Address:
        """The path of the file, given the component's folder."""
        return Address(engine=self.engine, path=str(data / self.file))

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """None: its users open the file themselves."""
        return []

    def readiness(self, world: World) -> Missing:
        """Runs `setup` at once; then it is ready."""
        if self.setup:
            store = connect(self.store_address(world.directory / "data" / self.name))
            try:
                for statement in self.setup:
                    store.ask(statement)
            except QueryError as error:
                raise ProcessError(f"{self.name} refused its setup: {error}") from error
            finally:
                store.close()
        return lambda: ""
