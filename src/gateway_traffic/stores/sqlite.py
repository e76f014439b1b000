"""The embedded store: one SQLite file.

SQLite rather than DuckDB, because a page reads while the job writes: with SQLite's write-ahead log
other processes read a consistent state meanwhile; a DuckDB file that one process writes cannot be
opened by another. A batch is one transaction.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gateway_traffic.errors import NoStoreError, ServiceError, UsageError
from gateway_traffic.stores.store import NO_BATCH, TOP, Anomaly, DayTotal, Mean, Part, Top, Total

WAIT_S = 10.0
"""How long a writer waits for another."""
TABLES = """
create table if not exists traffic (
  day integer not null, gateway_id text not null, part integer not null,
  tx real not null, rx real not null, records integer not null,
  primary key (day, gateway_id, part)) without rowid;
create index if not exists traffic_by_gateway on traffic (gateway_id, day);
create table if not exists anomalies (
  day integer not null, part integer not null, gateway_id text not null, score real not null,
  primary key (day, part, gateway_id)) without rowid;
create table if not exists batches (query text primary key, batch integer not null) without rowid;
"""
SUMS = "sum(tx) as tx, sum(rx) as rx, sum(records) as records"
COLUMNS = {"day", "gateway_id", "part", "tx", "rx", "records"}
UPSERT = (
    "insert or replace into traffic (gateway_id, day, part, tx, rx, records) "
    "values (?, ?, ?, ?, ?, ?)"
)
UPSERT_ANOMALY = (
    "insert or replace into anomalies (gateway_id, day, part, score) values (?, ?, ?, ?)"
)


class SqliteStore:
    """An open file."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        if read_only and not path.exists():
            raise NoStoreError(f"there is no store {path}: a job makes it")
        self._path = path
        with self._translate_errors():
            address = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
            # Spark calls from several threads, one at a time.
            self._connection = sqlite3.connect(
                address, uri=True, timeout=WAIT_S, check_same_thread=False
            )
            self._connection.isolation_level = None  # We begin transactions ourselves.
        try:
            with self._translate_errors():
                if read_only:
                    self._require_tables()
                else:
                    self._make_tables()
        except BaseException:
            self._connection.close()
            raise

    def last_batch(self, query: str) -> int:
        """The number of the last batch that was written."""
        with self._translate_errors():
            row = self._connection.execute(
                "select batch from batches where query = ?", (query,)
            ).fetchone()
        return int(row[0]) if row else NO_BATCH

    def write(
        self, query: str, batch: int, parts: Sequence[Part], anomalies: Sequence[Anomaly] = ()
    ) -> None:
        """Write the parts, the anomalies and the batch's number in one transaction."""
        with self._translate_errors(), self._transaction():
            if self.last_batch(query) >= batch:
                return
            self._connection.executemany(UPSERT, parts)
            self._connection.executemany(UPSERT_ANOMALY, anomalies)
            self._connection.execute("insert or replace into batches values (?, ?)", (query, batch))

    def days(self) -> list[DayTotal]:
        """Every day's total so far."""
        text = f"select day, {SUMS} from traffic group by day order by day"
        return [DayTotal(*row) for row in self._ask(text)]

    def totals_of_gateway(self, gateway_id: str) -> list[Total]:
        """A gateway's days in order."""
        text = (
            f"select gateway_id, day, {SUMS} from traffic where gateway_id = ? "
            "group by day order by day"
        )
        return [Total(*row) for row in self._ask(text, gateway_id)]

    def totals_of_day(self, day: int) -> list[Total]:
        """A day's gateways, by name."""
        text = (
            f"select gateway_id, day, {SUMS} from traffic where day = ? "
            "group by gateway_id order by gateway_id"
        )
        return [Total(*row) for row in self._ask(text, day)]

    def top(self, day: int) -> Top:
        """The ten busiest gateways of a day."""
        return Top(day, self._busiest(day, "tx"), self._busiest(day, "rx"))

    def _busiest(self, day: int, column: str) -> tuple[tuple[str, float], ...]:
        text = (
            f"select gateway_id, sum({column}) as bytes from traffic where day = ? "
            f"group by gateway_id order by bytes desc, gateway_id limit {TOP}"
        )
        return tuple((gateway_id, amount) for gateway_id, amount in self._ask(text, day))

    def means(self, day: int) -> list[Mean]:
        """The mean over all gateways, for each part of a day."""
        text = (
            "select day, part, avg(tx), avg(rx), count(*) from traffic where day = ? "
            "group by part order by part"
        )
        return [Mean(*row) for row in self._ask(text, day)]

    def anomalies(self, day: int) -> list[Anomaly]:
        """A day's anomalies."""
        text = (
            "select gateway_id, day, part, score from anomalies where day = ? "
            "order by part, gateway_id"
        )
        return [Anomaly(*row) for row in self._ask(text, day)]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _make_tables(self) -> None:
        self._connection.execute("pragma journal_mode=wal")
        self._connection.executescript(TABLES)

    def _require_tables(self) -> None:
        """The file may exist before its tables do; a file of another program has other tables."""
        columns = {name for _, name, *_ in self._connection.execute("pragma table_info(traffic)")}
        if not columns:
            raise NoStoreError(f"there are no tables in the store {self._path}: a job makes them")
        if missing := COLUMNS - columns:
            raise UsageError(
                f"the store {self._path} is not one of a job: its table traffic has no column "
                f"{min(missing)}"
            )

    def _ask(self, text: str, *values: str | int) -> list[Any]:
        with self._translate_errors():
            return self._connection.execute(text, values).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            wrong_file = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB
            kind = UsageError if wrong_file else ServiceError
            raise kind(f"the store {self._path} cannot be used: {error}") from error
