"""The History of a run: its events, its samples, and the ledger of records sent and seen.

Checks and reports read it. All times are monotonic nanoseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import polars as pl
import pyarrow as pa

from streambed import record
from streambed.errors import FormatError
from streambed.record import codec, handed_in, parquet_files, tables
from streambed.record.event_log import read_events
from streambed.record.events import Event, Note, Phase, TableDamaged
from streambed.record.ledger import broker_files, schemas, stored_rows
from streambed.record.ledger.stored import StoredTable, as_frame, encoded_batches
from streambed.record.ledger.stored_rows import StoreQuery, StoreRows
from streambed.record.status import state_of
from streambed.units import Duration

if TYPE_CHECKING:
    from streambed.kinds.components.component import Component
    from streambed.record.ledger.broker_files import BrokerFiles

Happened = TypeVar("Happened", bound=Event)

Answer = Literal["holds", "fails", "unknown"]
LEDGER_TABLES = (
    "sent",
    "seen",
    "lives",
    "transactions",
    "assignments",
    "commits",
    "kept",
    "probed",
)


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """Every record sent and every record seen, and what else clients recorded."""

    sent: pl.DataFrame
    seen: pl.DataFrame
    lives: pl.DataFrame = field(default_factory=lambda: empty(schemas.LIVES))
    transactions: pl.DataFrame = field(default_factory=lambda: empty(schemas.TRANSACTIONS))
    assignments: pl.DataFrame = field(default_factory=lambda: empty(schemas.ASSIGNMENTS))
    commits: pl.DataFrame = field(default_factory=lambda: empty(schemas.COMMITS))
    kept: pl.DataFrame = field(default_factory=lambda: empty(schemas.KEPT))
    """Keys and values, of those who keep them."""
    probed: pl.DataFrame = field(default_factory=lambda: empty(schemas.PROBED))
    derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was computed from these tables, so that several checks compute it once."""

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of a table piece by piece; words as dictionaries."""
        frame: pl.DataFrame = getattr(self, table)
        yield from encoded_batches(frame.select(columns).to_arrow())


class StoredLedger(Ledger):
    """A ledger on disk: each table is read when it is first asked for."""

    def __init__(self, tables: Mapping[str, StoredTable]) -> None:
        self.__dict__.update(_tables=tables, derived={})

    def __getattr__(self, name: str) -> Any:
        # Python asks here only for what is not in the instance yet.
        tables: Mapping[str, StoredTable] = self.__dict__.get("_tables", {})
        if name not in tables:
            raise AttributeError(name)
        self.__dict__[name] = tables[name].frame()
        return self.__dict__[name]

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of a table piece by piece, without reading the rest of it."""
        tables: Mapping[str, StoredTable] = self.__dict__["_tables"]
        return tables[table].batches(columns)


NO_TIME = Duration(0)


@dataclass(frozen=True, kw_only=True)
class History:
    """All that a run recorded, in memory."""

    events: tuple[Event, ...] = ()
    samples: pl.DataFrame = field(default_factory=lambda: empty(schemas.SAMPLES))
    ledger: Ledger = field(
        default_factory=lambda: Ledger(sent=empty(schemas.SENT), seen=empty(schemas.SEEN))
    )
    broker_files: BrokerFiles | None = None
    """What the brokers' own files held; None if they left none."""
    declaration: dict[str, Any] = field(default_factory=dict)
    warm_up: Duration = NO_TIME
    """The warm-up that the experiment declares; none in runs of older versions."""
    components: Mapping[str, Component] = field(default_factory=dict)
    """The declared components by name; filled in by `results.runs.history_at`."""
    rows: Mapping[str, StoreRows] = field(default_factory=dict)
    """What stores held after the drain, by the name of the query."""

    def rows_of(self, query: StoreQuery) -> StoreRows:
        """The recorded result of a query."""
        return self.rows.get(query.name, StoreRows(error="it was not queried after the drain"))

    def of(self, *kinds: type[Happened]) -> list[Happened]:
        """The events of these kinds, in order."""
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def start_ns(self) -> int:
        """When the run began."""
        return self.events[0].time if self.events else 0

    @property
    def load_ns(self) -> int | None:
        """When the load began; None if it never did."""
        return next((event.time for event in self.of(Phase) if event.phase == "load"), None)

    @property
    def zero_ns(self) -> int:
        """Time zero of a report: the start of the load, as in the declaration's `at`; the start of
        the run if there was no load.
        """
        return self.start_ns if self.load_ns is None else self.load_ns

    def seconds(self, time_ns: int) -> float:
        """A time as seconds since the run began."""
        return (time_ns - self.start_ns) / 1e9

    def load_seconds(self, time_ns: int) -> float:
        """A time as seconds since the load began; negative before it."""
        return (time_ns - self.zero_ns) / 1e9


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a check says of a history."""

    check: str
    answer: Answer
    says: str
    evidence: dict[str, Any] = field(default_factory=dict)
    about: str = ""
    """The topic, component or command that was judged."""
    brief: str = ""
    """The result in a few words, for a headline."""
    punctual: bool = False
    """Whether the answer depends on links being on time."""

    @property
    def holds(self) -> bool:
        """Whether the check holds."""
        return self.answer == "holds"

    @property
    def fails(self) -> bool:
        """Whether the check fails; `evidence` shows why."""
        return self.answer == "fails"

    @property
    def doubted(self) -> bool:
        """Whether it is unknown because it depends on links that were not on time."""
        in_doubt = self.evidence.get("in_doubtful_time")
        return bool(self.punctual and in_doubt and self.answer == "unknown")


EXIT_STATUS: dict[Answer | None, int] = {"holds": 0, "fails": 1, "unknown": 2, None: 0}
"""The exit status for an answer; None if nothing was checked."""
NOTHING_CHECKED = "nothing was checked: the experiment declares no checks"
WORST_FIRST: tuple[Answer, ...] = ("fails", "unknown", "holds")


def read_verdicts(path: Path) -> list[Verdict]:
    """The verdicts in a file; FormatError if it is damaged."""
    try:
        return [codec.convert(Verdict, fields) for fields in json.loads(path.read_bytes())]
    except (ValueError, TypeError, FormatError) as error:
        raise FormatError(f"{path} is damaged: {error}. Judge again: streambed check") from None


def worst(verdicts: Iterable[Verdict]) -> Answer | None:
    """The worst answer: fails, then unknown, then holds. None without verdicts."""
    answers = {verdict.answer for verdict in verdicts}
    return next((answer for answer in WORST_FIRST if answer in answers), None)


def empty(schema: pa.Schema) -> pl.DataFrame:
    """A table without rows."""
    return as_frame(schema.empty_table())


def read(directory: Path) -> History:
    """The history in a run's folder, also of a run that did not finish."""
    tables = {name: _table(directory / "history", name) for name in LEDGER_TABLES}
    for name in handed_in.LEDGERS:
        table = tables[name]
        tables[name] = replace(table, parts=(*table.parts, *_handed_in(directory, name)))
    declaration = record.read_json(directory / "plan.json").get("declaration", {})
    return History(
        events=read_events(directory),
        rows=stored_rows.read(directory),
        samples=read_table(directory, "samples"),
        ledger=StoredLedger(tables),
        broker_files=broker_files.read(directory),
        declaration=declaration,
        warm_up=Duration.parse(declaration.get("warm_up", "0s")),
    )


def read_table(directory: Path, name: str) -> pl.DataFrame:
    """One of the tables of a run (ledger/schemas.py)."""
    return _table(directory / "history", name).frame()


def _handed_in(directory: Path, name: handed_in.Name) -> Iterator[pa.Table]:
    """What programs of the user handed in."""
    for path in handed_in.paths(directory, name):
        try:
            yield handed_in.read(path, name, _span(directory))
        except FormatError:
            # A run that did not finish says so itself; a program may have been stopped half-way.
            if state_of(directory)[0] == "finished":
                raise


def _span(directory: Path) -> handed_in.Span:
    events = read_events(directory)
    start = events[0].time if events else 0
    running = state_of(directory)[0] == "running" or not events
    return handed_in.Span(start=start, end=None if running else events[-1].time)


def _table(folder: Path, name: str) -> StoredTable:
    schema = schemas.TABLES[name]
    parquet = folder / f"{name}.parquet"
    if parquet.exists():
        parquet_files.check_footer(parquet, schema)
        return StoredTable(schema, parquet)
    parts = _parts(folder, name, schema)
    finished = state_of(folder.parent)[0] == "finished"
    for path, part in parts.items():
        # A run that did not finish says so itself; its tables may lack something.
        if finished and part.end.state == "corrupt":
            raise tables.damaged_table(path, part.end.reason)
    return StoredTable(schema, parts=tuple(part.table for part in parts.values()))


def _parts(folder: Path, name: str, schema: pa.Schema) -> dict[Path, tables.TablePart]:
    paths = sorted(folder.glob(f"{name}*.arrow"), key=_by_life)
    return {path: tables.read_part(path, schema) for path in paths}


def _by_life(path: Path) -> tuple[str, int]:
    """Files of one client in the order of its lives: `seen-reader-10` after `seen-reader-2`."""
    client, _, life = path.stem.rpartition("-")
    return (client, int(life)) if life.isdigit() else (path.stem, 0)


def _concat_parts(parts: dict[Path, tables.TablePart], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *(part.table for part in parts.values())])


def keep_as_parquet(directory: Path) -> list[Event]:
    """Convert the tables of a run that is over to Parquet. Returns events for the run's log.

    The Arrow files of a table are removed once its Parquet file exists. A table with a corrupt file
    keeps them all.
    """
    recorded: list[Event] = []
    for name, schema in schemas.TABLES.items():
        try:
            recorded += _keep(directory / "history", name, schema)
        except OSError as error:
            failure = f"the table {name} could not be kept as Parquet: {error}"
            recorded.append(Note(says=f"{failure}. Its Arrow files stay, and can be read as well"))
    return recorded + _unusable(directory)


def _unusable(directory: Path) -> list[Event]:
    """An event for each file that a program handed in and that cannot be used."""
    recorded: list[Event] = []
    for name in handed_in.LEDGERS:
        for path in handed_in.paths(directory, name):
            try:
                handed_in.read(path, name, _span(directory))
            except FormatError as error:
                file = f"{record.HANDED_IN}/{path.name}"
                recorded.append(TableDamaged(file=file, reason=str(error)))
    return recorded


def _keep(folder: Path, name: str, schema: pa.Schema) -> list[TableDamaged]:
    parts = _parts(folder, name, schema)
    corrupt = [
        TableDamaged(file=f"{folder.name}/{path.name}", reason=part.end.reason)
        for path, part in parts.items()
        if part.end.state == "corrupt"
    ]
    if corrupt or not parts:
        return corrupt
    parquet_files.write(folder / f"{name}.parquet", _concat_parts(parts, schema))
    for path in parts:
        path.unlink()
    return []
