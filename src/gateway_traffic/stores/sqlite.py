"""The embedded store: one SQLite file.

SQLite rather than DuckDB, because a page reads while the job writes: SQLite's write-ahead log lets
other processes read a steady state meanwhile, whereas a DuckDB file that one process writes cannot
be opened by another. A batch is one transaction.
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
  day integer not null, gateway_id text not null, part integer not null, tx real not null, rx real not null, records integer not null,
  primary key (day, gateway_id, part)) without rowid;
create index if not exists traffic_by_gateway on traffic (gateway_id, day);
create table if not exists anomalies (
  day integer not null, part integer not null, gateway_id text not null, score real not null,
  primary key (day, part, gateway_id)) without rowid;
create table if not exists batches (query text primary key, batch integer not null) without rowid;
"""
SUMS = "sum(tx) as tx, sum(rx) as rx, sum(records) as records"
COLUMNS = {"day", "gateway_id", "part", "tx", "rx", "records"}
UPSERT = "insert or replace into traffic (gateway_id, day, part, tx, rx, records) values (?, ?, ?, ?, ?, ?)"

UPSERT_ANOMALY = (
    "insert or replace into anomalies (gateway_id, day, part, score) values (?, ?, ?, ?)"
)


class SqliteStore:
    """An open file."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        if read_only and not path.exists():
            raise NoStoreError(f"there is no store {path}: a job makes it")
        self._path = path
        with self._said():
            address = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
            # Spark calls from threads of its own, one after the other.
            self._connection = sqlite3.connect(
                address, uri=True, timeout=WAIT_S, check_same_thread=False
            )
            self._connection.isolation_level = None  # Transactions begin where the code says so.
        try:
            with self._said():
                if read_only:
                    self._demand_tables()
                else:
                    self._make_tables()
        except BaseException:
            self._connection.close()
            raise

    def last_batch(self, query: str) -> int:
        """The number of the last batch that is there."""
        with self._said():
            found = self._connection.execute(
                "select batch from batches where query = ?", (query,)
            ).fetchone()
        return int(found[0]) if found else NO_BATCH

    def write(
        self, query: str, batch: int, parts: Sequence[Part], anomalies: Sequence[Anomaly] = ()
    ) -> None:
        """In one transaction: the parts and the batch's number."""
        with self._said(), self._transaction():
            if self.last_batch(query) >= batch:
                return
            self._connection.executemany(UPSERT, parts)
            self._connection.executemany(UPSERT_ANOMALY, anomalies)
            self._connection.execute("insert or replace into batches values (?, ?)", (query, batch))

    def days(self) -> list[DayTotal]:
        """Every day's total so far."""
        return [
            DayTotal(*row)
            for row in self._ask(f"select day, {SUMS} from traffic group by day order by day")
        ]

    def totals_of_gateway(self, gateway_id: str) -> list[Total]:
        """A gateway's days in order."""
        text = f"select gateway_id, day, {SUMS} from traffic where gateway_id = ? group by day order by day"
        return [Total(*row) for row in self._ask(text, gateway_id)]

    def totals_of_day(self, day: int) -> list[Total]:
        """A day's gateways, by name."""
        text = f"select gateway_id, day, {SUMS} from traffic where day = ? group by gateway_id order by gateway_id"
        return [Total(*row) for row in self._ask(text, day)]

    def top(self, day: int) -> Top:
        """The ten busiest gateways of a day."""
        sent, received = (
            self._ask(
                f"select gateway_id, sum({name}) as bytes from traffic where day = ? group by "
                "gateway_id "
                f"order by bytes desc, gateway_id limit {TOP}",
                day,
            )
            for name in ("tx", "rx")
        )
        return Top(
            day,
            tuple((row[0], row[1]) for row in sent),
            tuple((row[0], row[1]) for row in received),
        )

    def means(self, day: int) -> list[Mean]:
        """The mean over all gateways, for each part of a day."""
        text = "select day, part, avg(tx), avg(rx), count(*) from traffic where day = ? group by part order by part"
        return [Mean(*row) for row in self._ask(text, day)]

    def anomalies(self, day: int) -> list[Anomaly]:
        """A day's anomalies."""
        text = "select gateway_id, day, part, score from anomalies where day = ? order by part, gateway_id"
        return [Anomaly(*row) for row in self._ask(text, day)]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _make_tables(self) -> None:
        self._connection.execute("pragma journal_mode=wal")
        self._connection.executescript(TABLES)

    def _demand_tables(self) -> None:
        """A file may be there before its tables are; a file of somebody else has others."""
        columns = {name for _, name, *_ in self._connection.execute("pragma table_info(traffic)")}
        if not columns:
            raise NoStoreError(f"there are no tables in the store {self._path}: a job makes them")
        if lacking := COLUMNS - columns:
            raise UsageError(
                f"the store {self._path} is not one of a job: its table traffic has no column "
                f"{min(lacking)}"
            )

    def _ask(self, text: str, *values: str | int) -> list[Any]:
        with self._said():
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
    def _said(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            wrong_file = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB
            kind = UsageError if wrong_file else ServiceError
            raise kind(f"the store {self._path} cannot be used: {error}") from error
