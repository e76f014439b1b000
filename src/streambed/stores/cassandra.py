"""Cassandra, in CQL, through its Python driver."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from cassandra import (
    DriverException,
    InvalidRequest,
    OperationTimedOut,
    RequestExecutionException,
    Unauthorized,
)
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    Session,
)
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import RoundRobinPolicy
from cassandra.protocol import SyntaxException
from cassandra.query import tuple_factory

from streambed.errors import QueryError, StoreError
from streambed.stores.store import CONNECT_S, Address, QueryResult, SinkTable

REQUEST_S = 10
AT_ONCE = 64
LOST = (NoHostAvailable, OperationTimedOut, RequestExecutionException)
WRONG = (InvalidRequest, SyntaxException, Unauthorized, DriverException)
TYPES = {
    "name": "text",
    "text": "text",
    "bytes": "blob",
    "integer": "bigint",
    "real": "double",
    "boolean": "boolean",
}


class Cassandra:
    """An open session."""

    def __init__(self, cluster: Cluster, session: Session) -> None:
        self._cluster = cluster
        self._session = session
        self._prepared: dict[str, Any] = {}

    def ask(self, text: str) -> QueryResult:
        """Carry out one statement."""
        with _translate_errors():
            result = self._session.execute(text)
            if not result.column_names:
                return QueryResult()
            return QueryResult(
                columns=tuple(result.column_names), rows=[tuple(row) for row in result]
            )

    def make_table(self, table: SinkTable) -> None:
        """Make a table if it does not exist, partitioned like the topic and sorted by offset."""
        columns = ", ".join(f'"{name}" {TYPES[kind]}' for name, kind in table.columns.items())
        self.ask(
            f'create table if not exists "{table.name}" ({columns}, primary key (("topic", '
            '"partition"), "offset"))'
        )

    def write(self, table: SinkTable, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows concurrently, each with one insert, which replaces a row with the same key."""
        names = ", ".join(f'"{name}"' for name in table.columns)
        text = (
            f'insert into "{table.name}" ({names}) values ({", ".join("?" * len(table.columns))})'
        )
        with _translate_errors():
            if text not in self._prepared:
                self._prepared[text] = self._session.prepare(text)
            execute_concurrent_with_args(
                self._session, self._prepared[text], list(rows), concurrency=AT_ONCE
            )

    def close(self) -> None:
        """End the session and its threads."""
        self._cluster.shutdown()


def connect(address: Address, read_only: bool) -> Cassandra:
    """Open a session, in a keyspace if the address has one."""
    profile = ExecutionProfile(
        load_balancing_policy=RoundRobinPolicy(),
        request_timeout=REQUEST_S,
        row_factory=tuple_factory,
    )
    cluster = Cluster(
        list(address.hosts),
        port=address.port,
        connect_timeout=CONNECT_S,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        schema_metadata_enabled=False,
        token_metadata_enabled=False,
    )
    try:
        with _translate_errors():
            return Cassandra(cluster, cluster.connect(address.database or None))
    except BaseException:
        cluster.shutdown()
        raise


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn the driver's errors into StoreError or QueryError."""
    try:
        yield
    except LOST as error:
        raise StoreError(str(error)) from error
    except WRONG as error:
        raise QueryError(str(error)) from error
