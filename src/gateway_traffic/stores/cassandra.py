"""Cassandra, with a table for each query.

| table | query | partition |
|---|---|---|
| traffic_by_day | a day's gateways | day |
| traffic_by_gateway | a gateway's days | gateway_id |
| top_by_day | the ten busiest of a day | day |
| mean_by_day | the mean over all gateways for each part of a day | day |
| anomalies_by_day | a day's anomalies | day |
| days | every day's total | one for all |
| batches | how far a query has come | query |

Rows are absolute sums, so a batch that was half written when the driver died is written again; its
number is written last. Rows of one partition go in one unlogged batch: one message, one mutation.
The store caches the parts of the newest days to compute the rows of a day, so only one job may
write.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any

from cassandra import DriverException, InvalidRequest, RequestExecutionException
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    Session,
)
from cassandra.concurrent import execute_concurrent
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy
from cassandra.query import BatchStatement, BatchType, tuple_factory

from gateway_traffic.errors import NoStoreError, ServiceError, UsageError
from gateway_traffic.stores.store import NO_BATCH, Anomaly, DayTotal, Mean, Part, Top, Total, top_of

REQUEST_S = 10.0
RECONNECT_S = 1.0
AT_ONCE = 32
ROWS_AT_ONCE = 100
SUMS = "tx double, rx double, records bigint"
TABLES = (
    f"create table if not exists traffic_by_day (day int, gateway_id text, part int, {SUMS}, "
    "primary key (day, gateway_id, part))",
    f"create table if not exists traffic_by_gateway (gateway_id text, day int, part int, {SUMS}, "
    "primary key (gateway_id, day, part))",
    "create table if not exists top_by_day (day int, direction text, place int, gateway_id text, "
    "bytes double, "
    "primary key (day, direction, place))",
    "create table if not exists mean_by_day (day int, part int, tx double, rx double, gateways "
    "int, primary key (day, part))",
    "create table if not exists anomalies_by_day (day int, part int, gateway_id text, score "
    "double, primary key (day, part, gateway_id))",
    f"create table if not exists days (era int, day int, {SUMS}, primary key (era, day))",
    "create table if not exists batches (query text primary key, number int)",
)
TABLE_NAMES = (
    "traffic_by_day",
    "traffic_by_gateway",
    "top_by_day",
    "mean_by_day",
    "anomalies_by_day",
    "days",
    "batches",
)
ERA = 0
"""There are few days: they share one partition."""
DAYS_CACHED = 8
COLUMNS = "gateway_id, day, part, tx, rx, records"
INSERT_RANK = (
    "insert into top_by_day (day, direction, place, gateway_id, bytes) values (?, ?, ?, ?, ?)"
)
INSERT_MEAN = "insert into mean_by_day (day, part, tx, rx, gateways) values (?, ?, ?, ?, ?)"


class CassandraStore:
    """An open session in a keyspace."""

    def __init__(
        self,
        hosts: Sequence[str],
        port: int,
        keyspace: str,
        *,
        replicas: int = 1,
        read_only: bool = False,
    ) -> None:
        profile = ExecutionProfile(
            load_balancing_policy=RoundRobinPolicy(),
            request_timeout=REQUEST_S,
            row_factory=tuple_factory,
        )
        self._read_only = read_only
        self._address = f"cassandra://{','.join(hosts)}:{port}/{keyspace}"
        with self._translate_errors():  # An unknown host name already fails here.
            self._cluster = Cluster(
                list(hosts),
                port=port,
                connect_timeout=REQUEST_S,
                execution_profiles={EXEC_PROFILE_DEFAULT: profile},
                reconnection_policy=ConstantReconnectionPolicy(RECONNECT_S, max_attempts=None),
            )
        self._prepared: dict[str, Any] = {}
        self._cached_days: dict[int, dict[tuple[str, int], Part]] = {}
        try:
            with self._translate_errors():
                self._session = self._open(keyspace, replicas, read_only)
        except BaseException:
            self._cluster.shutdown()
            raise

    def last_batch(self, query: str) -> int:
        """The number of the last batch that was completely written."""
        rows = self._ask("select number from batches where query = ?", query)
        return int(rows[0][0]) if rows else NO_BATCH

    def write(
        self, query: str, batch: int, parts: Sequence[Part], anomalies: Sequence[Anomaly] = ()
    ) -> None:
        """Write the parts by day and by gateway, the rows of the days, last the batch's number."""
        if self.last_batch(query) >= batch:
            return
        try:
            for table, key in (("traffic_by_day", _day), ("traffic_by_gateway", _gateway)):
                text = f"insert into {table} ({COLUMNS}) values (?, ?, ?, ?, ?, ?)"
                self._write_partitions(text, sorted(parts, key=key), key)
            text = "insert into anomalies_by_day (gateway_id, day, part, score) values (?, ?, ?, ?)"
            self._write_partitions(text, sorted(anomalies, key=_day), _day)
            for day, some in groupby(sorted(parts, key=_day), _day):
                self._write_day(day, self._day_with(day, some))
            self._ask("insert into batches (query, number) values (?, ?)", query, batch)
        except BaseException:
            self._cached_days.clear()  # It is unknown what was written.
            raise

    def days(self) -> list[DayTotal]:
        """Every day's total so far."""
        rows = self._ask("select day, tx, rx, records from days where era = ?", ERA)
        return [DayTotal(*row) for row in rows]

    def totals_of_gateway(self, gateway_id: str) -> list[Total]:
        """A gateway's days in order."""
        text = f"select {COLUMNS} from traffic_by_gateway where gateway_id = ?"
        return _totals(self._ask(text, gateway_id))

    def totals_of_day(self, day: int) -> list[Total]:
        """A day's gateways, by name."""
        return _totals(self._ask(f"select {COLUMNS} from traffic_by_day where day = ?", day))

    def top(self, day: int) -> Top:
        """The ten busiest gateways of a day."""
        rows = self._ask("select direction, gateway_id, bytes from top_by_day where day = ?", day)
        sent = tuple((name, amount) for direction, name, amount in rows if direction == "sent")
        received = tuple(
            (name, amount) for direction, name, amount in rows if direction == "received"
        )
        return Top(day, sent, received)

    def means(self, day: int) -> list[Mean]:
        """The mean over all gateways, for each part of a day."""
        text = "select day, part, tx, rx, gateways from mean_by_day where day = ?"
        return [Mean(*row) for row in self._ask(text, day)]

    def anomalies(self, day: int) -> list[Anomaly]:
        """A day's anomalies."""
        text = "select gateway_id, day, part, score from anomalies_by_day where day = ?"
        return [Anomaly(*row) for row in self._ask(text, day)]

    def close(self) -> None:
        """End the session and its threads."""
        self._cluster.shutdown()

    def _open(self, keyspace: str, replicas: int, read_only: bool) -> Session:
        session = self._cluster.connect()
        if read_only:
            self._require_tables(keyspace)
        else:
            strategy = f"{{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}"
            session.execute(
                f'create keyspace if not exists "{keyspace}" with replication = {strategy}'
            )
        session.set_keyspace(keyspace)
        if not read_only:
            for text in TABLES:
                session.execute(text)
        return session

    def _require_tables(self, keyspace: str) -> None:
        """Check the metadata from when we connected; open the store again to see newer tables."""
        known = self._cluster.metadata.keyspaces.get(keyspace)
        if known is None:
            raise NoStoreError(
                f"there is no keyspace {keyspace} in the store {self._address}: a job makes it"
            )
        if missing := [table for table in TABLE_NAMES if table not in known.tables]:
            raise NoStoreError(
                f"there is no table {missing[0]} in the store {self._address}: a job makes it"
            )

    def _write_partitions(self, text: str, rows: list[Any], key: Callable[[Any], Any]) -> None:
        with self._translate_errors():
            statement = self._statement(text)
            batches: list[tuple[BatchStatement, tuple[()]]] = []
            for _, partition in groupby(rows, key):
                batches += [(batch, ()) for batch in _batches(statement, partition)]
            execute_concurrent(self._session, batches, concurrency=AT_ONCE)

    def _day_with(self, day: int, parts: Iterable[Part]) -> list[Part]:
        """All parts of a day, including these, by gateway."""
        if day not in self._cached_days:
            rows = self._ask(f"select {COLUMNS} from traffic_by_day where day = ?", day)
            self._cached_days[day] = {
                (part.gateway_id, part.part): part for part in map(Part._make, rows)
            }
        known = self._cached_days[day]
        known.update({(part.gateway_id, part.part): part for part in parts})
        for oldest in sorted(self._cached_days)[:-DAYS_CACHED]:
            del self._cached_days[oldest]
        return sorted(known.values())

    def _write_day(self, day: int, parts: list[Part]) -> None:
        totals = _totals(parts)
        ranks = _ranks(top_of(day, totals), day)
        means = _means(day, parts)
        batch = BatchStatement(BatchType.UNLOGGED)
        with self._translate_errors():
            insert_rank = self._statement(INSERT_RANK)
            batch.add_all([insert_rank] * len(ranks), ranks)
            insert_mean = self._statement(INSERT_MEAN)
            batch.add_all([insert_mean] * len(means), means)
            self._session.execute(batch)
        tx = sum(total.tx for total in totals)
        rx = sum(total.rx for total in totals)
        records = sum(total.records for total in totals)
        insert_day = "insert into days (era, day, tx, rx, records) values (?, ?, ?, ?, ?)"
        self._ask(insert_day, ERA, day, tx, rx, records)

    def _ask(self, text: str, *values: str | float) -> list[Any]:
        with self._translate_errors():
            return list(self._session.execute(self._statement(text), values))

    def _statement(self, text: str) -> Any:
        if text not in self._prepared:
            self._prepared[text] = self._session.prepare(text)
        return self._prepared[text]

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except InvalidRequest as error:
            # A reader made no tables: these belong to another program, so waiting is useless.
            kind = UsageError if self._read_only else ServiceError
            raise kind(f"the store {self._address} cannot be used: {error}") from error
        except (NoHostAvailable, RequestExecutionException, DriverException) as error:
            raise ServiceError(f"the store {self._address} cannot be used: {error}") from error


def _ranks(top: Top, day: int) -> list[tuple[int, str, int, str, float]]:
    """Rows of the busiest gateways, in the columns of INSERT_RANK."""
    ranks = []
    for direction, ranked in (("sent", top.sent), ("received", top.received)):
        for rank, (gateway_id, amount) in enumerate(ranked, 1):
            ranks.append((day, direction, rank, gateway_id, amount))
    return ranks


def _day(row: Part | Anomaly) -> int:
    return row.day


def _gateway(part: Part) -> str:
    return part.gateway_id


def _batches(statement: Any, rows: Iterator[Any]) -> Iterator[BatchStatement]:
    while some := list(islice(rows, ROWS_AT_ONCE)):
        batch = BatchStatement(BatchType.UNLOGGED)
        batch.add_all([statement] * len(some), some)
        yield batch


def _totals(rows: list[Any]) -> list[Total]:
    """Totals of days from their parts; rows come ordered."""
    grouped = groupby(map(Part._make, rows), lambda part: (part.gateway_id, part.day))
    return [_total(gateway_id, day, list(parts)) for (gateway_id, day), parts in grouped]


def _means(day: int, parts: list[Part]) -> list[Mean]:
    """The mean of each part of a day."""
    means = []
    ordered = sorted(parts, key=lambda part: part.part)
    for number, group in groupby(ordered, lambda part: part.part):
        some = list(group)
        mean_tx = sum(part.tx for part in some) / len(some)
        mean_rx = sum(part.rx for part in some) / len(some)
        means.append(Mean(day, number, mean_tx, mean_rx, len(some)))
    return means


def _total(gateway_id: str, day: int, parts: list[Part]) -> Total:
    return Total(
        gateway_id,
        day,
        sum(part.tx for part in parts),
        sum(part.rx for part in parts),
        sum(part.records for part in parts),
    )
