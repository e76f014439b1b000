"""Records as rows: where they were, and what was declared to be taken out of their values."""

from __future__ import annotations

import datetime
import uuid

import polars as pl
import pytest

from streambed.agents.asker import frame_of
from streambed.agents.sink import Unfit, row_of
from streambed.stores.store import Answer

COLUMNS = {"n": "integer", "share": "real", "ok": "boolean", "who": "text"}


class Record:
    """What a Kafka client gives of a record."""

    def __init__(self, value: bytes | None, key: bytes | None = None) -> None:
        self._value, self._key = value, key

    def topic(self) -> str:
        return "lines"

    def partition(self) -> int:
        return 1

    def offset(self) -> int:
        return 7

    def timestamp(self) -> tuple[int, int]:
        return 1, 99

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value


def test_a_record_of_text_becomes_a_row_of_text():
    assert row_of(Record(b"a", b"k"), "text", {}) == ("lines", 1, 7, 99, "k", "a")


def test_bytes_stay_bytes_and_nothing_stays_nothing():
    assert row_of(Record(b"\xff\x00"), "bytes", {}) == ("lines", 1, 7, 99, None, b"\xff\x00")
    assert row_of(Record(None), "json", COLUMNS)[4:] == (None, None, None, None, None, None)


def test_columns_are_taken_from_json_with_their_types():
    value = b'{"n": 3, "share": 1, "ok": true, "who": {"name": "poet"}, "more": 1}'

    assert row_of(Record(value), "json", COLUMNS)[6:] == (3, 1.0, True, '{"name": "poet"}')


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
    with pytest.raises(Unfit) as refusal:
        row_of(Record(value), form, COLUMNS)

    assert "record lines/1 at 7 cannot be written" in str(refusal.value)
    assert says in str(refusal.value)


def test_an_answer_becomes_a_frame_with_types():
    day, name = datetime.date(2026, 11, 15), uuid.UUID(int=1)

    found = frame_of(Answer(columns=("a", "a", "day", "id"), rows=[(1, None, day, name), (2, "x", None, None)]))

    assert found.schema == {"a": pl.Int64, "a_2": pl.String, "day": pl.Date, "id": pl.String}
    assert found.rows() == [(1, None, day, str(name)), (2, "x", None, None)]


def test_an_answer_without_columns_is_an_empty_frame():
    assert frame_of(Answer()).shape == (0, 0)
