"""Embedded: a store without a server, a file under the run that jobs and commands open."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from streambed.errors import Problem, ProcessError, QueryError
from streambed.kinds.components.component import OnOneNode
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.site import Site
from streambed.kinds.declaring import Name, declared
from streambed.plan import ProcessSpec
from streambed.stores.store import Address, connect
from streambed.world import Missing, World

FILES = {"sqlite": "store.sqlite", "duckdb": "store.duckdb", "rocksdb": "store.rocksdb"}


@declared
class Embedded(OnOneNode):
    """A file of SQLite or DuckDB, or a folder of RocksDB, on the disk of `node`; `{NAME.path}` is
    where.
    """

    kind: Literal["embedded"] = "embedded"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    engine: Literal["sqlite", "duckdb", "rocksdb"]
    setup: tuple[str, ...] = ()
    """Statements that are carried out before others start."""

    box_reason: ClassVar[str] = ""

    @property
    def as_store(self) -> Embedded:
        """Itself."""
        return self

    def answers(self, data: Path) -> dict[str, str]:
        """References to it."""
        return {"path": str(data / self.file)}

    @property
    def server(self) -> bool:
        """Others wait for it."""
        return True

    @property
    def limits(self) -> Limits | None:
        """It has no processes."""
        return None

    @property
    def file(self) -> str:
        """Its name in the component's folder."""
        return FILES[self.engine]

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """RocksDB understands no statements."""
        says = "rocksdb has no statements that could set it up"
        return [Problem(key="setup", says=says)] if self.setup and self.engine == "rocksdb" else []

    def store_address(self, data: Path) -> Address:
        """The file, given its folder."""
        return Address(engine=self.engine, path=str(data / self.file))

    def processes(self, site: Site) -> list[ProcessSpec]:
        """None: whoever uses it opens it."""
        return []

    def readiness(self, world: World) -> Missing:
        """Ready at once, when it has carried out its `setup`."""
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
