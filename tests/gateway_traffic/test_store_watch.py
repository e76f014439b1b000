"""Waiting for a store: what waiting may heal is remembered, what it cannot heal is raised at
once.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from gateway_traffic import pipeline
from gateway_traffic.errors import NoStoreError, ServiceError, UsageError
from gateway_traffic.pipeline import StoreWatch
from gateway_traffic.stores.opening import open_store
from gateway_traffic.stores.store import Part


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "traffic.db"


def watch(path: Path | str, *, written: bool = False) -> StoreWatch:
    return StoreWatch(str(path), written=lambda: written)


def write(path: Path, records: int) -> None:
    store = open_store(str(path))
    store.write("q", 0, [Part("a", 1, 0, 10.0, 1.0, records)])
    store.close()


def execute(path: Path, text: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(text)
    connection.close()


def test_a_store_with_enough_records_is_enough(path):
    write(path, 7)

    assert watch(path).holds(7)


def test_a_store_with_too_few_records_says_how_many(path):
    write(path, 7)
    store = watch(path)

    assert not store.holds(8)
    assert store.trouble == "it holds 7"


def test_a_store_that_the_job_has_not_made_yet_is_waited_for(path):
    store = watch(path)

    assert not store.holds(1)
    assert f"there is no store {path}: a job makes it" in store.trouble


def test_a_file_whose_tables_are_still_to_come_is_waited_for(path):
    path.touch()
    store = watch(path)

    assert not store.holds(1)
    assert "there are no tables" in store.trouble


def test_a_store_that_is_missing_although_the_job_wrote_is_reported_at_once(path):
    with pytest.raises(NoStoreError, match=r"there is no store .*traffic\.db"):
        watch(path, written=True).holds(1)


@pytest.mark.filterwarnings("ignore")
def test_a_store_that_does_not_answer_is_waited_for_and_named():
    pytest.importorskip("cassandra")
    store = watch("cassandra://127.0.0.1:1/traffic", written=True)

    assert not store.holds(1)
    assert "the store cassandra://127.0.0.1:1/traffic cannot be used" in store.trouble


def test_tables_of_another_program_are_reported_at_once(path):
    execute(
        path, "create table traffic (day integer, gateway_id text, part integer, tx real, rx real)"
    )

    with pytest.raises(
        UsageError, match="is not one of a job: its table traffic has no column records"
    ):
        watch(path).holds(1)


def test_a_file_that_is_no_database_is_reported_at_once(path):
    path.write_text("no database " * 100)

    with pytest.raises(UsageError, match="file is not a database"):
        watch(path).holds(1)


def test_a_wrong_address_is_reported_at_once():
    with pytest.raises(UsageError, match="a store is a file"):
        watch("mongodb://here").holds(1)


def test_a_wait_that_was_too_long_names_the_cause(path):
    store = watch(path)

    with pytest.raises(
        ServiceError,
        match=r"waited 0 s for the store to hold 3 records: there is no store .*traffic\.db",
    ):
        pipeline._wait_until(
            lambda: store.holds(3),
            [],
            within_s=0,
            what="the store to hold 3 records",
            why=lambda: store.trouble,
        )
