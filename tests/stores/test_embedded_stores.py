"""Stores that are files: what a sink writes twice is there once, and who only reads changes
nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.errors import QueryError, StoreError
from streambed.stores.store import COLUMNS, Address, SinkTable, Store, connect

TABLE = SinkTable(name="records", columns={**COLUMNS, "n": "integer", "ok": "boolean"})
ROWS = [
    ("lines", 0, offset, 1_700_000_000_000, None, f"line {offset}", offset, True)
    for offset in range(3)
]
ENGINES = ("sqlite", "duckdb", "rocksdb")
COUNT = {
    "sqlite": "select count(*) from records",
    "duckdb": "select count(*) from records",
    "rocksdb": "count records/",
}


def opened(engine: str, folder: Path, *, read_only: bool = False) -> Store:
    return connect(Address(engine=engine, path=str(folder / "store")), read_only=read_only)


def filled(engine: str, folder: Path) -> Store:
    store = opened(engine, folder)
    store.make_table(TABLE)
    store.write(TABLE, ROWS)
    return store


@pytest.mark.parametrize("engine", ENGINES)
def test_a_record_that_is_written_twice_is_there_once(engine: str, tmp_path: Path) -> None:
    store = filled(engine, tmp_path)
    store.make_table(TABLE)
    store.write(TABLE, [*ROWS[1:], ("lines", 1, 0, 0, "key", "other", None, None)])

    assert store.ask(COUNT[engine]).rows == [(4,)]


@pytest.mark.parametrize("engine", ENGINES)
def test_one_program_reads_while_another_writes(engine: str, tmp_path: Path) -> None:
    writer = filled(engine, tmp_path)
    reader = opened(engine, tmp_path, read_only=True)

    assert reader.ask(COUNT[engine]).rows == [(3,)]
    writer.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_not_understood_is_refused_in_the_words_of_the_store(
    engine: str, tmp_path: Path
) -> None:
    store = filled(engine, tmp_path)

    with pytest.raises(QueryError, match="nonsense"):
        store.ask("nonsense")


@pytest.mark.parametrize("engine", ["duckdb", "rocksdb"])
def test_a_file_that_is_not_there_cannot_be_read(engine: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        opened(engine, tmp_path, read_only=True).ask("count")


def test_rows_keep_their_values_and_columns_their_names(tmp_path: Path) -> None:
    answer = filled("sqlite", tmp_path).ask('select * from records where "offset" = 2')

    assert answer.columns == (
        "topic",
        "partition",
        "offset",
        "timestamp",
        "key",
        "value",
        "n",
        "ok",
    )
    assert answer.rows == [("lines", 0, 2, 1_700_000_000_000, None, "line 2", 2, 1)]


def test_rocksdb_gets_scans_and_counts_by_prefix(tmp_path: Path) -> None:
    store = filled("rocksdb", tmp_path)
    first = "records/lines/0/0000000000000000000"

    assert store.ask("scan records/lines/0/").rows[0][0] == first
    assert '"value": "line 0"' in store.ask(f"get {first}").rows[0][1]
    assert store.ask("get nothing").rows == []
    assert store.ask("count other").rows == [(0,)]
