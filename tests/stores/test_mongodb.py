"""MongoDB's client: commands as JSON, documents as rows, rows as documents; against a server that
speaks its protocol.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress

import pytest

from streambed.artifacts.one_shot import free_ports
from streambed.errors import MissingError, QueryError, StoreError
from streambed.record import wait_until
from streambed.stores import mongodb
from streambed.stores.store import Address, SinkTable, Store, connect
from tests.support import stand_in_mongod
from tests.support.missing_tools import lack

pytestmark = pytest.mark.together(10)
TABLE = SinkTable(
    name="lines",
    columns={
        "topic": "name",
        "partition": "integer",
        "offset": "integer",
        "value": "bytes",
        "n": "real",
    },
)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[subprocess.Popen[bytes], Address]]:
    folder = tmp_path_factory.mktemp("mongod")
    try:
        stand_in_mongod.install(folder)
    except MissingError as error:
        lack(str(error))
    (port,) = free_ports(1)
    process = subprocess.Popen(
        [folder / "mongod", "--bind_ip_all", f"--port={port}", f"--dbpath={folder}"],
        start_new_session=True,
    )
    try:
        yield (
            process,
            Address(engine="mongodb", hosts=("localhost",), port=port, database="streambed"),
        )
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill it and its Java."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def store(server: tuple[subprocess.Popen[bytes], Address]) -> Iterator[Store]:
    opened: list[Store] = []

    def answers() -> bool:
        assert server[0].poll() is None
        try:
            opened.append(connect(server[1]))
        except StoreError:
            return False
        return True

    assert wait_until(answers, limit_s=30)
    yield opened[0]
    opened[0].close()


@pytest.mark.spark
def test_a_row_that_is_written_twice_is_there_once_as_it_was_written_last(store: Store) -> None:
    rows = [("lines", 0, offset, b"\x00", None) for offset in range(300)]
    store.make_table(TABLE)
    store.write(TABLE, rows)
    store.write(TABLE, [*rows[:-1], ("lines", 0, 299, b"\x01", 0.5)])

    assert store.ask('{"count": "lines"}').rows == [(300,)]
    answer = store.ask('{"find": "lines", "filter": {"offset": 299}}')
    assert answer.columns == ("_id", *TABLE.columns)
    assert answer.rows == [("lines/0/299", "lines", 0, 299, b"\x01", 0.5)]
    assert len(store.ask('{"find": "lines"}').rows) == 300, (
        "what comes after the first batch is asked for too"
    )


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"nonsense": 1}', "no such command"),
        ('{"find": "lines", "filter": {"$nonsense": 1}}', "unknown top level operator"),
        ('{"insert": "mine", "documents": [{"_id": 1}, {"_id": 1}]}', "duplicate key"),
    ],
)
def test_what_the_server_refuses_is_said_in_its_words(store: Store, text: str, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        store.ask(text)


@pytest.mark.spark
def test_a_server_that_is_gone_is_distinguished_from_a_refusal(
    server: tuple[subprocess.Popen[bytes], Address], store: Store, monkeypatch
) -> None:
    monkeypatch.setattr(mongodb, "CONNECT_S", 0.2)
    kill(server[0])

    with pytest.raises(StoreError):
        store.write(TABLE, [("lines", 0, 0, b"", None)])
    with pytest.raises(StoreError):
        connect(server[1])


@pytest.mark.parametrize("text", ["select 1", "[]", "{}", "7", ""])
def test_what_is_no_command_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(QueryError, match=r'such as \{"find": "lines"\}'):
        mongodb.command_of(text)


def test_documents_are_rows_with_a_column_for_each_name() -> None:
    answer = mongodb.table_of([{"_id": 1, "a": {"b": [1.5]}}, {"_id": 2, "c": "x"}])

    assert answer.columns == ("_id", "a", "c")
    assert answer.rows == [(1, '{"b": [1.5]}', None), (2, None, "x")]
