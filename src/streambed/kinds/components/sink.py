"""Sink: writes the records of topics into a table of a store, without any code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from streambed.errors import Problem, suggestion
from streambed.kinds.components.broker import client_problems
from streambed.kinds.components.component import OnOneNode, when_gauge_is_ready
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.components.progress import DeclaredReader, Progress, positions_of
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Name, Names, Setting, Word, declared
from streambed.plan import OnExit, ProcessSpec
from streambed.record.orders import ConsumerMember, SinkOrder
from streambed.stores.store import COLUMNS, SinkTable
from streambed.world import Missing, World


@declared
class Sink(OnOneNode):
    """Writes each record of `reads` into a table of `store`, once, even if it is read again."""

    kind: Literal["sink"] = "sink"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    reads: Annotated[Names, Field(min_length=1)]
    """A topic or several."""
    store: str
    """The component that keeps the table."""
    table: Word
    """Created if it does not exist."""
    format: Literal["text", "bytes", "json"] = "text"
    """What keys and values are: text in UTF-8, any bytes, or JSON, of which `columns` are taken."""
    columns: dict[Word, Literal["text", "integer", "real", "boolean"]] = Field(default_factory=dict)
    """More columns with their types, each filled from the key of that name in a JSON value; null
    if the value has no such key.
    """
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of librdkafka's settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"

    shows_flow: ClassVar[bool] = True
    box_reason: ClassVar[str] = ""

    @property
    def group(self) -> str:
        """The consumer group that it reads as: its own name."""
        return self.name

    @property
    def readers(self) -> tuple[DeclaredReader, ...]:
        """One group, which must see all of `reads`."""
        only_text = self.format != "bytes"
        return (DeclaredReader(name=self.group, topics=self.reads, only_text=only_text),)

    @property
    def stores_used(self) -> tuple[str, ...]:
        """The one store that it writes."""
        return (self.store,)

    def progress(self, world: World) -> Progress:
        """The positions of its group; none once it is dead."""
        if not world.find(self.name).alive:
            return Progress()
        return Progress(positions=tuple(positions_of(world, self.name, [self.group], self.reads)))

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """Its topics and its store must be declared, and its broker must support its settings."""
        return [
            *client_problems(self, self.reads, others, "reads"),
            *self._store_problems(others),
            *self._column_problems(),
        ]

    def _store_problems(self, others: Components) -> list[Problem]:
        stores = {name: other.as_store for name, other in others.items() if other.as_store}
        store = stores.get(self.store)
        if store is None:
            says = f"there is no store '{self.store}'. {suggestion(self.store, stores)}"
            return [Problem(key="store", says=says, about=frozenset({self.store}))]
        if not store.store_address(Path()).path or not self.node:
            return []
        store_node = store.places.get("node", "")
        if store_node != self.node:
            says = f"'{self.store}' is a file on '{store_node}': its sink must be there too"
            return [Problem(key="node", says=says)]
        return []

    def _column_problems(self) -> list[Problem]:
        problems = [
            Problem(key=f"columns.{name}", says="every sink's table has such a column already")
            for name in COLUMNS
            if name in self.columns
        ]
        if self.columns and self.format != "json":
            says = (
                f"columns are taken from JSON, but `format` is {self.format}: give `format: json`"
            )
            problems.append(Problem(key="columns", says=says))
        return problems

    def answers(self, data: Path) -> dict[str, str]:
        """{NAME.group} and {NAME.table}."""
        return {"group": self.group, "table": self.table}

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """One agent, which reads the topic and writes the store."""
        file = context.order(self.name, self._order(context))
        return [
            ProcessSpec(
                name=self.name,
                component=self.name,
                node=self.node,
                argv=(context.machine.python, "-m", "streambed.agents.sink", file.path),
                env=context.variables(self.name, self.node, context.bootstrap_for(self.reads)),
                files=(file,),
                on_exit=self.on_exit,
                starts="ready",
            )
        ]

    def _order(self, context: PlanContext) -> SinkOrder:
        content_type = "bytes" if self.format == "bytes" else "text"
        columns = {**COLUMNS, "key": content_type, "value": content_type, **self.columns}
        settings = {"auto.offset.reset": "earliest", "enable.auto.commit": False, **self.settings}
        broker = context.broker_of(self.reads)
        return SinkOrder(
            reader=broker.reader,
            member=ConsumerMember(
                name=self.name, group=self.group, client={"group.id": self.group}
            ),
            topics=self.reads,
            client=broker.client(settings),
            store=context.stores[self.store],
            table=SinkTable(name=self.table, columns=columns),
            format=self.format,
            taken=tuple(self.columns),
        )

    def readiness(self, world: World) -> Missing:
        """Ready when its table exists and its partitions are assigned."""
        return when_gauge_is_ready(world, self.name)
