"""Journeys from arrays are those from tables, where arrays answer at all."""

from __future__ import annotations

import pytest

from streambed.kinds.evidence import group_journeys, journeys
from streambed.record.history import History
from tests.support.histories import acked, behind, history_of, seen, sent, undrained

KAFKA = {"kind": "kafka", "nodes": ["b"], "topics": {"lines": {}, "other": {}}}
POET = {"kind": "producer", "node": "b", "writes": "lines"}
READER = {"kind": "consumer", "node": "b", "reads": "lines"}
COMPONENTS = {"kafka": KAFKA, "a": POET, "b": POET, "reader": READER}


def rows(history: History) -> list[tuple[object, ...]]:
    frame = journeys.journeys(history, "reader")
    return sorted(frame.select(sorted(frame.columns)).rows(), key=repr)


@pytest.mark.parametrize(
    "lines",
    [
        [acked("lines", "a=1"), seen("lines", "a=1")],
        [acked("lines", "a=2"), acked("lines", "a=1"), seen("lines", "a=2"), seen("lines", "a=1")],
        [acked("lines", "a=1"), seen("lines", "a=1", at=9), seen("lines", "a=1", at=4)],
        [acked("lines", "a=1"), acked("lines", "a=2"), seen("lines", "a=2")],
        [acked("lines", "a=1"), acked("lines", "b=1", offset=2), seen("lines", "b=1", offset=2)],
        [sent("lines", "a=1"), acked("lines", "a=2"), seen("lines", "a=2")],
        [acked("lines", "a=1"), acked("lines", "a=2"), seen("lines", "a=1"),
         undrained(behind("reader"))],
    ],
)  # fmt: skip
def test_arrays_and_tables_agree(lines, monkeypatch: pytest.MonkeyPatch):
    history = history_of(*lines, components=COMPONENTS)
    direct = group_journeys.journeys_to_group(history, "reader", "reader", ["lines"])
    from_arrays = rows(history)
    monkeypatch.setattr(group_journeys, "journeys_to_group", lambda *_: None)

    assert direct is not None
    assert from_arrays == rows(history)


@pytest.mark.parametrize(
    ("components", "lines"),
    [
        ({**COMPONENTS, "a": {**POET, "writes": ["lines", "other"]}}, [seen("lines", "a=1")]),
        (COMPONENTS, [seen("lines", "a=1", by="another", group="reader"), seen("lines", "a=1")]),
        (COMPONENTS, [seen("lines", "c=1")]),
    ],
    ids=["a producer of two topics", "two components in a group", "a record nobody sent there"],
)
def test_arrays_do_not_answer_where_records_may_come_another_way(components, lines):
    history = history_of(acked("lines", "a=1"), *lines, components=components)

    assert group_journeys.journeys_to_group(history, "reader", "reader", ["lines"]) is None
