"""MongoDB. Queries are database commands in JSON, such as `{"find": "lines", "limit": 9}`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bson import json_util
from bson.errors import BSONError
from pymongo import MongoClient, ReplaceOne, WriteConcern
from pymongo.database import Database
from pymongo.errors import ConnectionFailure, OperationFailure, PyMongoError

from streambed.errors import QueryError, StoreError
from streambed.stores.store import CONNECT_S, KEY, Address, QueryResult, SinkTable

REQUEST_S = 10
CURSORS = ("aggregate", "find", "listCollections", "listIndexes")
"""The commands that return a cursor, which is read to its end."""
ENDING = (91, 189, 11600, 11602)
"""Error codes of a server that is shutting down: a StoreError, not a refused query."""
JOURNALED = WriteConcern(w=1, j=True)
"""Acknowledged writes are in the journal, so that they survive a kill of the server."""
Document = dict[str, Any]


class MongoDB:
    """An open client. A sink's row is a document whose _id is topic/partition/offset."""

    def __init__(self, client: MongoClient[Document], database: str) -> None:
        self._client = client
        self._database: Database[Document] = client.get_database(database, write_concern=JOURNALED)

    def ask(self, text: str) -> QueryResult:
        """Carry out one command."""
        command = command_of(text)
        with _translate_errors():
            if next(iter(command)) in CURSORS:
                return table_of(list(self._database.cursor_command(command)))
            reply = self._database.command(command)
            if "writeErrors" in reply:  # The driver does not raise if only some were refused.
                raise OperationFailure("not all was written", details=reply)
            return table_of([{name: value for name, value in reply.items() if name != "ok"}])

    def make_table(self, table: SinkTable) -> None:
        """Does nothing: the first document creates a collection."""

    def write(self, table: SinkTable, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write each row separately; it replaces the document with its _id."""
        upserts = []
        for row in rows:
            record = dict(zip(table.columns, row, strict=True))
            identity = "/".join(str(record[key]) for key in KEY)
            document = {"_id": identity, **record}
            upserts.append(ReplaceOne({"_id": identity}, document, upsert=True))
        with _translate_errors():
            self._database[table.name].bulk_write(upserts, ordered=False)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


def connect(address: Address, read_only: bool) -> MongoDB:
    """Connect to this one server, not to its replica set, and check that it answers."""
    client: MongoClient[Document] = MongoClient(
        address.hosts[0],
        address.port,
        directConnection=True,
        serverSelectionTimeoutMS=CONNECT_S * 1000,
        connectTimeoutMS=CONNECT_S * 1000,
        socketTimeoutMS=REQUEST_S * 1000,
    )
    try:
        with _translate_errors():
            client.admin.command("ping")
    except BaseException:
        client.close()
        raise
    return MongoDB(client, address.database)


def command_of(text: str) -> Document:
    """Parse a command; QueryError if it is not a JSON object."""
    try:
        command = json_util.loads(text)
    except (ValueError, TypeError, BSONError) as error:
        raise QueryError(f'a command is JSON, such as {{"find": "lines"}}: {error}') from error
    if not isinstance(command, dict) or not command:
        raise QueryError(f'a command is a JSON object, such as {{"find": "lines"}}, and not {text}')
    return command


def table_of(documents: list[Mapping[str, Any]]) -> QueryResult:
    """Documents as a table, with a column for each field; missing fields are None."""
    columns = tuple(dict.fromkeys(name for document in documents for name in document))
    return QueryResult(
        columns=columns,
        rows=[tuple(_plain(document.get(name)) for name in columns) for document in documents],
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json_util.dumps(value, json_options=json_util.RELAXED_JSON_OPTIONS)
    return value


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn the driver's errors into StoreError or QueryError."""
    try:
        yield
    except ConnectionFailure as error:
        raise StoreError(str(error)) from error
    except OperationFailure as error:
        raise (StoreError if error.code in ENDING else QueryError)(_reason(error)) from error
    except (PyMongoError, BSONError, OverflowError) as error:
        raise QueryError(str(error)) from error


def _reason(error: OperationFailure) -> str:
    """The server's message, without the rest of its reply."""
    details: Mapping[str, Any] = error.details or {}
    refused = [*details.get("writeErrors", ()), *details.get("writeConcernErrors", ())]
    return str((refused or [details])[0].get("errmsg") or error)
