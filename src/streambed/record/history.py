"""The History of a run: its events, its samples, and the ledger of records sent and seen.

Checks and reports read it. All times are monotonic nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import polars as pl
import pyarrow as pa

from streambed import record
from streambed.record import parquet_files, tables
from streambed.record.event_log import read_events
from streambed.record.events import Event, Note, Phase, TableDamaged
from streambed.record.status import state_of

if TYPE_CHECKING:
    from streambed.kinds.components.component import Component

Happened = TypeVar("Happened", bound=Event)

Answer = Literal["holds", "fails", "unknown"]
TABLES = {"samples": tables.SAMPLES, "sent": tables.SENT, "seen": tables.SEEN, "kept": tables.KEPT}


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """Every record sent and every record seen."""

    sent: pl.DataFrame
    seen: pl.DataFrame


@dataclass(frozen=True, kw_only=True)
class History:
    """All that a run recorded, in memory."""

    events: tuple[Event, ...] = ()
    samples: pl.DataFrame = field(default_factory=lambda: empty(tables.SAMPLES))
    ledger: Ledger = field(
        default_factory=lambda: Ledger(sent=empty(tables.SENT), seen=empty(tables.SEEN))
    )
    declaration: dict[str, Any] = field(default_factory=dict)
    components: Mapping[str, Component] = field(default_factory=dict)
    """The declared components by name; filled in by `results.runs.history_at`."""

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

    def seconds(self, time_ns: int) -> float:
        """A time as seconds since the run began."""
        return (time_ns - self.start_ns) / 1e9


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a check says of a history."""

    check: str
    answer: Answer
    says: str
    evidence: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether the check holds."""
        return self.answer == "holds"

    @property
    def fails(self) -> bool:
        """Whether the check fails; `evidence` shows why."""
        return self.answer == "fails"


EXIT_STATUS: dict[Answer | None, int] = {"holds": 0, "fails": 1, "unknown": 2, None: 0}
"""The exit status for an answer; None if nothing was checked."""
NOTHING_CHECKED = "nothing was checked: the experiment declares no checks"
WORST_FIRST: tuple[Answer, ...] = ("fails", "unknown", "holds")


def worst(verdicts: Iterable[Verdict]) -> Answer | None:
    """The worst answer: fails, then unknown, then holds. None without verdicts."""
    answers = {verdict.answer for verdict in verdicts}
    return next((answer for answer in WORST_FIRST if answer in answers), None)


def empty(schema: pa.Schema) -> pl.DataFrame:
    """A table without rows."""
    return frame(schema.empty_table())


def frame(table: pa.Table) -> pl.DataFrame:
    """An Arrow table as a data frame."""
    converted = pl.from_arrow(table)
    assert isinstance(converted, pl.DataFrame)
    return converted


def read(directory: Path) -> History:
    """The history in a run's folder, also of a run that did not finish."""
    folder = directory / "history"
    return History(
        events=read_events(directory),
        samples=_table(folder, "samples", tables.SAMPLES),
        ledger=Ledger(
            sent=_table(folder, "sent", tables.SENT), seen=_table(folder, "seen", tables.SEEN)
        ),
        declaration=record.read_json(directory / "plan.json").get("declaration", {}),
    )


def read_table(directory: Path, name: str) -> pl.DataFrame:
    """One of the tables of a run: samples, sent, seen or kept."""
    return _table(directory / "history", name, TABLES[name])


def _table(folder: Path, name: str, schema: pa.Schema) -> pl.DataFrame:
    parquet = folder / f"{name}.parquet"
    if parquet.exists():
        return frame(parquet_files.read(parquet, schema))
    parts = _parts(folder, name, schema)
    finished = state_of(folder.parent)[0] == "finished"
    for path, part in parts.items():
        # A run that did not finish says so itself; its tables may lack something.
        if finished and part.end.state == "corrupt":
            raise tables.damaged(path, part.end.reason)
    return frame(_concat_parts(parts, schema))


def _parts(folder: Path, name: str, schema: pa.Schema) -> dict[Path, tables.TablePart]:
    return {path: tables.read_part(path, schema) for path in sorted(folder.glob(f"{name}*.arrow"))}


def _concat_parts(parts: dict[Path, tables.TablePart], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *(part.table for part in parts.values())])


def keep_as_parquet(directory: Path) -> list[Event]:
    """Convert the tables of a run that is over to Parquet. Returns events for the run's log.

    The Arrow files of a table are removed once its Parquet file exists. A table with a corrupt file
    keeps them all.
    """
    recorded: list[Event] = []
    for name, schema in TABLES.items():
        try:
            recorded += _keep(directory / "history", name, schema)
        except OSError as error:
            failure = f"the table {name} could not be kept as Parquet: {error}"
            recorded.append(Note(says=f"{failure}. Its Arrow files stay, and can be read as well"))
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
