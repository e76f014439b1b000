"""Records as rows: where they were, and what was declared to be taken out of their values."""

from __future__ import annotations

import datetime
import uuid

import polars as pl
import pytest

from streambed.agents import sink
from streambed.agents.agent import Agent
from streambed.agents.reader import Reader, ReaderSetup, ReadRecord
from streambed.agents.sink import SinkReading, UnwritableRecord, row_of
from streambed.agents.store_query import frame_of
from streambed.errors import StoreError
from streambed.record.ledger.schemas import SEEN
from streambed.record.orders import ConsumerMember, SinkOrder
from streambed.record.tables import read_table
from streambed.stores.store import Address, QueryResult, SinkTable

COLUMNS = {"n": "integer", "share": "real", "ok": "boolean", "who": "text"}


def record(value: bytes | None, key: bytes | None = None) -> ReadRecord:
    return ReadRecord("lines", 1, 7, timestamp_ms=99, key=key, value=value)


def test_a_record_of_text_becomes_a_row_of_text():
    assert row_of(record(b"a", b"k"), "text", {}) == ("lines", 1, 7, 99, "k", "a")


def test_bytes_stay_bytes_and_nothing_stays_nothing():
    assert row_of(record(b"\xff\x00"), "bytes", {}) == ("lines", 1, 7, 99, None, b"\xff\x00")
    assert row_of(record(None), "json", COLUMNS)[4:] == (None, None, None, None, None, None)


def test_columns_are_taken_from_json_with_their_types():
    value = b'{"n": 3, "share": 1, "ok": true, "who": {"name": "poet"}, "more": 1}'

    assert row_of(record(value), "json", COLUMNS)[6:] == (3, 1.0, True, '{"name": "poet"}')


@pytest.mark.parametrize(
    ("value", "form", "says"),
    [
        (b"\xff", "text", "it is not text in UTF-8 (invalid start byte at byte 0)"),
        (b"[1]", "json", "its value is JSON, but no object with keys"),
        (b'{"n": 1.5}', "json", "its n is 1.5, which is no integer"),
        (b'{"n": true}', "json", "its n is true, which is no integer"),
        (b'{"ok": 1}', "json", "its ok is 1, which is no boolean"),
        (b"{", "json", "Expecting property name"),
    ],
)
def test_a_record_that_does_not_fit_is_named(value, form, says):
    with pytest.raises(UnwritableRecord) as refusal:
        row_of(record(value), form, COLUMNS)

    assert "record lines/1 at 7 cannot be written" in str(refusal.value)
    assert says in str(refusal.value)


def test_an_answer_becomes_a_frame_with_types():
    day, name = datetime.date(2026, 11, 15), uuid.UUID(int=1)

    found = frame_of(
        QueryResult(
            columns=("a", "a", "day", "id"), rows=[(1, None, day, name), (2, "x", None, None)]
        )
    )

    assert found.schema == {"a": pl.Int64, "a_2": pl.String, "day": pl.Date, "id": pl.String}
    assert found.rows() == [(1, None, day, str(name)), (2, "x", None, None)]


def test_an_answer_without_columns_is_an_empty_frame():
    assert frame_of(QueryResult()).shape == (0, 0)


class Readers(Reader):
    """Gives its records one at a time, and tells when they may be committed."""

    def __init__(self, setup: ReaderSetup, calls: list[str]) -> None:
        self.records = [record(b"a"), record(b"b")]
        self.calls = calls

    def join(self) -> None:
        """It is there already."""

    def take(self, wait_s: float, *, most: int) -> list[ReadRecord]:
        return [self.records.pop(0)] if self.records else []

    def flushed(self) -> None:
        self.calls.append("commit")

    def leave(self) -> None:
        """It stays."""


class FakeStore:
    """Does not answer the first time."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.answers = False

    def make_table(self, table: SinkTable) -> None:
        """It is there."""

    def write(self, table: SinkTable, rows: list[tuple[object, ...]]) -> None:
        self.calls.append(f"write {len(rows)}" if self.answers else "no answer")
        if not self.answers:
            self.answers = True
            raise StoreError("away")

    def close(self) -> None:
        """Never stop."""


class Rebalanced(Readers):
    """Loses its partition after each record, and gets it again."""

    def __init__(self, setup: ReaderSetup, calls: list[str]) -> None:
        super().__init__(setup, calls)
        self.tenures = setup.tenures
        self.tenures.begin(("lines", 1), 7, "committed")

    def take(self, wait_s: float, *, most: int) -> list[ReadRecord]:
        if len(self.records) == 1:
            self.tenures.end(("lines", 1), "lost", 8)
            self.tenures.begin(("lines", 1), 7, "committed")
        return super().take(wait_s, most=most)


def test_a_row_of_a_sink_has_the_tenure_in_which_it_was_read(tmp_path, monkeypatch):
    sinking = sink_with(tmp_path, monkeypatch, [], Rebalanced)

    sinking.take(0.02)
    sinking.finish()
    sinking.tenures.close()

    (path,) = (tmp_path / "history").glob("seen*")
    assert read_table(path, SEEN)["tenure"].to_pylist() == [1, 2]


def sink_with(tmp_path, monkeypatch, calls: list[str], readers: type[Readers]) -> SinkReading:
    """A sink whose store answers the second time."""
    for name in ("history", "gauges"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("STREAMBED_RUN", str(tmp_path))
    monkeypatch.setenv("STREAMBED_PROCESS", "sink")
    store = FakeStore(calls)
    monkeypatch.setattr(sink, "connect", lambda address: store)
    order = SinkOrder(
        reader="",
        member=ConsumerMember(name="sink", group="sink"),
        topics=("lines",),
        client={},
        store=Address(engine="sqlite"),
        table=SinkTable(name="records", columns={}),
    )
    return SinkReading(Agent(), order, lambda setup: readers(setup, calls))


def test_a_sink_writes_then_flushes_its_ledger_and_only_then_commits(tmp_path, monkeypatch):
    calls: list[str] = []
    sinking = sink_with(tmp_path, monkeypatch, calls, Readers)
    monkeypatch.setattr(sinking.rows, "flush", lambda: calls.append("flush"))

    sinking.take(0.02)
    sinking.rows.close()
    sinking.tenures.close()

    assert calls[:4] == ["no answer", "write 2", "flush", "commit"]
    assert (sinking.seen, sinking.unnoted) == (2, False)
