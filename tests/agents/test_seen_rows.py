"""Rows of many polls at once are the same as rows one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streambed.agents.kafka.reader import identity_in
from streambed.agents.reader import ReadRecord, columns_of
from streambed.agents.record_identity import parse_identities, parse_identity
from streambed.agents.seen_rows import SeenRows
from streambed.record.ledger.schemas import SEEN
from streambed.record.orders import ConsumerMember
from streambed.record.tables import Table, read_table


@pytest.mark.parametrize(
    "texts",
    [
        [b"poet/7"],
        [b"poet/7", b"poet/8", b"poet/123456789012"],
        [b"poet/h1/7", b"poet/h1/8"],
        [b"poet/7", b"duke/8", b"poet/9"],
        [b"poet/7", b"poet/poet/8"],
        [b"poet/1", b"12poet/3"],
        [b"poet/7", None, b"poet/9"],
        [None, None],
        ["poet/7", "poet/8"],
        [b"/7", b"/8"],
        [b"a poet/7", b"a poet/8"],
    ],
)
def test_identities_are_parsed_together_as_one_by_one(texts: list[bytes | str | None]) -> None:
    producers, sequences = parse_identities(texts)

    assert list(zip(producers, sequences, strict=True)) == [parse_identity(text) for text in texts]


def test_a_text_that_is_no_identity_is_refused() -> None:
    with pytest.raises(ValueError, match="seven"):
        parse_identities([b"poet/7", b"poet/seven"])


def test_the_identity_is_found_among_other_headers() -> None:
    assert identity_in([("sb", b"poet/7"), ("unit", b"c")]) == b"poet/7"
    assert identity_in([("unit", b"c"), ("sb", b"poet/7")]) == b"poet/7"
    assert identity_in([("unit", None)]) is None
    assert identity_in(None) is None


def test_records_one_by_one_become_columns() -> None:
    columns = columns_of(
        [ReadRecord("lines", 0, 5, b"poet/1", 9, b"k", b"a"), ReadRecord("words", value=b"b")]
    )

    assert columns.topics == ("lines", "words")
    assert columns.offsets == (5, -1)
    assert columns.keys == (b"k", None)


class Numbers:
    """Tenures of four partitions."""

    def number(self, part: tuple[str, int]) -> int | None:
        return {("lines", 0): 4, ("lines", 1): 5, ("words", 0): 6}.get(part)


@pytest.mark.parametrize(
    ("parts", "tenures"),
    [
        ([("lines", 0), ("lines", 0)], [4, 4]),
        ([("lines", 0), ("lines", 1), ("lines", 0)], [4, 5, 4]),
        ([("words", 0), ("lines", 0), ("other", 0)], [6, 4, None]),
    ],
)
def test_a_row_has_the_tenure_and_the_time_of_its_poll(
    tmp_path: Path, parts: list[tuple[str, int]], tenures: list[int | None]
) -> None:
    member = ConsumerMember(name="reader", group="readers")
    held: Any = Numbers()
    rows = SeenRows(Table(tmp_path / "seen.arrow", SEEN), member, life=2, tenures=held)
    for seen_ns in (100, 200):
        rows.add(columns_of([ReadRecord(topic, number, 5) for topic, number in parts]), seen_ns)
    rows.close()

    table = read_table(tmp_path / "seen.arrow", SEEN)
    assert table["tenure"].to_pylist() == tenures * 2
    assert table["seen"].to_pylist() == [100] * len(parts) + [200] * len(parts)
    assert table["topic"].to_pylist() == [topic for topic, _ in parts] * 2
    assert set(table["life"].to_pylist()) == {2}
