"""Figures of what programs handed in."""

from __future__ import annotations

from pathlib import Path

from streambed.reports.figure import Absent, Figure
from streambed.reports.figures import handed_in
from tests.support.synthetic import history_of, seen, sent
from tests.support.synthetic_events import event

POET = {"kind": "command", "node": "edge", "argv": ["poet"], "writes": ["lines"]}
STORE = {"kind": "command", "node": "edge", "argv": ["store"], "reads": ["lines"]}


def test_records_a_second_are_counted_by_the_ledger():
    history = history_of(
        event(10, "phase", phase="load"),
        sent=(sent(0, 1.0), sent(1, 1.5), sent(2, 3.1)),
        seen=(seen(0, 4.0, "store"), seen(1, 4.5, "witness")),
        components={"poet": POET, "store": STORE},
    )

    (figure,) = handed_in.record_rates(history)

    assert figure.table.rows() == [
        ("poet sent", 1.5, 2.0),
        ("poet sent", 2.5, 0.0),
        ("poet sent", 3.5, 1.0),
        ("poet acked", 1.5, 2.0),
        ("poet acked", 2.5, 0.0),
        ("poet acked", 3.5, 1.0),
        ("store seen", 4.5, 1.0),
    ]


def test_records_of_agents_have_their_own_figure():
    producer = {"kind": "producer", "node": "edge", "writes": ["lines"]}
    history = history_of(sent=(sent(0, 1.0),), components={"poet": producer})

    assert handed_in.record_rates(history) == []


def test_a_table_is_shown_as_it_was_handed_in(tmp_path: Path):
    (tmp_path / "handed_in").mkdir()
    path = tmp_path / "handed_in" / "table-gateways-that-sent-most.csv"
    path.write_text("gateway,note,GB\ng1,busy,2.5\ng2,calm,1.0\n")

    (figure,) = handed_in.section(tmp_path)["Tables"]

    assert isinstance(figure, Figure)
    assert figure.title == "Gateways that sent most"
    assert figure.summary is not None
    assert figure.summary.rows() == [("g1", "busy", 2.5), ("g2", "calm", 1.0)]
    bars = figure.spec("run")["data"]["values"]
    assert bars == [{"name": "g1", "value": 2.5}, {"name": "g2", "value": 1.0}]


def test_a_table_that_cannot_be_shown_is_named(tmp_path: Path):
    (tmp_path / "handed_in").mkdir()
    for name, text in (
        ("empty", ""),
        ("words", "gateway,note\ng1,busy\n"),
        ("none", "gateway,GB\n"),
    ):
        (tmp_path / "handed_in" / f"table-{name}.csv").write_text(text)

    shown = handed_in.section(tmp_path)["Tables"]

    assert all(isinstance(figure, Absent) for figure in shown)
    reasons = [figure.reason for figure in shown if isinstance(figure, Absent)]
    assert ["table-empty.csv" in reasons[0], "table-none.csv" in reasons[1]] == [True, True]


def test_without_tables_there_is_no_section(tmp_path: Path):
    assert handed_in.section(tmp_path) == {}
