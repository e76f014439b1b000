"""MongoDB: asked with its own commands, written as JSON such as `{"find": "lines", "filter":
{"offset": {"$lt": 9}}}`.
"""

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
from streambed.stores.store import CONNECT_S, KEY, Address, Answer, SinkTable

REQUEST_S = 10
CURSORS = ("aggregate", "find", "listCollections", "listIndexes")
"""The commands that answer with documents; what they have beyond the first batch is asked for too.
"""
ENDING = (91, 189, 11600, 11602)
"""Codes of a server that is being shut down: it will not answer, which is no refusal."""
AS_KEPT = WriteConcern(w=1, j=True)
"""What was acknowledged is in the journal: whoever kills the server loses nothing of it."""
Document = dict[str, Any]


class MongoDB:
    """An open client. A sink's row is a document whose _id is topic/partition/offset."""

    def __init__(self, client: MongoClient[Document], database: str) -> None:
        self._client = client
        self._database: Database[Document] = client.get_database(database, write_concern=AS_KEPT)

    def ask(self, text: str) -> Answer:
        """Carry out one command."""
        command = command_of(text)
        with _said():
            if next(iter(command)) in CURSORS:
                return table_of(list(self._database.cursor_command(command)))
            said = self._database.command(command)
            if "writeErrors" in said:  # To the driver it is well if some documents were refused.
                raise OperationFailure("not all was written", details=said)
            return table_of([{name: value for name, value in said.items() if name != "ok"}])

    def make_table(self, table: SinkTable) -> None:
        """A collection is there from its first document on."""

    def write(self, table: SinkTable, rows: Iterable[tuple[Any, ...]]) -> None:
        """Each row by itself; it takes the place of the document with its _id."""
        records = [dict(zip(table.columns, row, strict=True)) for row in rows]
        named = [{"_id": "/".join(str(record[key]) for key in KEY), **record} for record in records]
        with _said():
            upserts = [
                ReplaceOne({"_id": document["_id"]}, document, upsert=True) for document in named
            ]
            self._database[table.name].bulk_write(upserts, ordered=False)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


def connect(address: Address, read_only: bool) -> MongoDB:
    """Connect to that server and no other, and hear that it answers."""
    client: MongoClient[Document] = MongoClient(
        address.hosts[0],
        address.port,
        directConnection=True,
        serverSelectionTimeoutMS=CONNECT_S * 1000,
        connectTimeoutMS=CONNECT_S * 1000,
        socketTimeoutMS=REQUEST_S * 1000,
    )
    try:
        with _said():
            client.admin.command("ping")
    except BaseException:
        client.close()
        raise
    return MongoDB(client, address.database)


def command_of(text: str) -> Document:
    """The command that a text is."""
    try:
        command = json_util.loads(text)
    except (ValueError, TypeError, BSONError) as error:
        raise QueryError(f'a command is JSON, such as {{"find": "lines"}}: {error}') from error
    if not isinstance(command, dict) or not command:
        raise QueryError(f'a command is a JSON object, such as {{"find": "lines"}}, and not {text}')
    return command


def table_of(documents: list[Mapping[str, Any]]) -> Answer:
    """A column for each name that any of the documents has; empty where one has none."""
    columns = tuple(dict.fromkeys(name for document in documents for name in document))
    return Answer(
        columns=columns,
        rows=[tuple(_plain(document.get(name)) for name in columns) for document in documents],
    )


def _plain(value: Any) -> Any:
    return (
        json_util.dumps(value, json_options=json_util.RELAXED_JSON_OPTIONS)
        if isinstance(value, dict | list)
        else value
    )


@contextlib.contextmanager
def _said() -> Iterator[None]:
    """The driver's errors in our words."""
    try:
        yield
    except ConnectionFailure as error:
        raise StoreError(str(error)) from error
    except OperationFailure as error:
        raise (StoreError if error.code in ENDING else QueryError)(_reason(error)) from error
    except (PyMongoError, BSONError, OverflowError) as error:
        raise QueryError(str(error)) from error


def _reason(error: OperationFailure) -> str:
    """What the server said, without all that stood beside it."""
    details: Mapping[str, Any] = error.details or {}
    refused = [*details.get("writeErrors", ()), *details.get("writeConcernErrors", ())]
    return str((refused or [details])[0].get("errmsg") or error)
