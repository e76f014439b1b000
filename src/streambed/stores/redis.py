"""Redis. Queries are commands such as `HGETALL lines/lines/0/5`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

import redis

from streambed.errors import QueryError, StoreError
from streambed.stores.store import CONNECT_S, KEY, Address, QueryResult, SinkTable

RETRY_S = 10


class Redis:
    """An open connection. A sink's row is a hash under table/topic/partition/offset."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def ask(self, text: str) -> QueryResult:
        """Carry out one command."""
        try:
            return _answer(self._client.execute_command(*shlex.split(text)))  # type: ignore[no-untyped-call]
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise StoreError(str(error)) from error
        except (redis.RedisError, ValueError, IndexError) as error:
            raise QueryError(str(error) or "an empty command") from error

    def make_table(self, table: SinkTable) -> None:
        """Does nothing: Redis has no tables."""

    def write(self, table: SinkTable, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write all rows in one transaction."""
        pipeline = self._client.pipeline(transaction=True)
        for row in rows:
            record = dict(zip(table.columns, row, strict=True))
            name = "/".join([table.name, *(str(record.pop(key)) for key in KEY)])
            pipeline.hset(
                name,
                mapping={key: _plain(value) for key, value in record.items() if value is not None},
            )
        try:
            pipeline.execute()
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise StoreError(str(error)) from error
        except redis.RedisError as error:
            raise QueryError(str(error)) from error

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def connect(address: Address, read_only: bool) -> Redis:
    """Connect and ping: a server that is still loading its data refuses."""
    client = redis.Redis(
        host=address.hosts[0],
        port=address.port,
        socket_connect_timeout=CONNECT_S,
        socket_timeout=RETRY_S,
    )
    try:
        client.ping()
    except redis.RedisError as error:
        client.close()
        raise StoreError(str(error)) from error
    return Redis(client)


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _answer(reply: Any) -> QueryResult:
    if isinstance(reply, dict):
        rows = [(_text(key), _text(value)) for key, value in reply.items()]
        return QueryResult(columns=("key", "value"), rows=rows)
    if isinstance(reply, list | tuple | set):
        return QueryResult(columns=("value",), rows=[(_text(value),) for value in reply])
    return QueryResult(columns=("value",), rows=[(_text(reply),)])


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return value if isinstance(value, int | float | str | None) else str(value)
