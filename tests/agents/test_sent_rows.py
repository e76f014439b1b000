from pathlib import Path

from streambed.agents.sent_rows import SentRows, pack
from streambed.tables import SENT, Table, read_table


def test_every_record_that_is_decided_has_its_row(tmp_path: Path) -> None:
    rows = SentRows(Table(tmp_path / "sent.arrow", SENT))
    poet, lines = rows.number("poet/h1"), rows.number("lines")

    rows.packed += pack(poet, 7, lines, 2, 40, 100, 110, 150)
    rows.lost(poet, 8, lines, 200, 210, "timed out")
    rows.flush()
    rows.packed += pack(poet, 9, lines, 0, 41, 300, 310, 350)
    rows.close()

    found = read_table(tmp_path / "sent.arrow", SENT).sort_by("sequence").to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("poet/h1", 7, "lines", 2, 40, 100, 110, 150, None),
        ("poet/h1", 8, "lines", None, None, 200, 210, None, "timed out"),
        ("poet/h1", 9, "lines", 0, 41, 300, 310, 350, None),
    ]


def test_what_was_flushed_is_kept_if_the_agent_dies(tmp_path: Path) -> None:
    rows = SentRows(Table(tmp_path / "sent.arrow", SENT))
    rows.packed += pack(rows.number("poet"), 1, rows.number("lines"), 0, 0, 1, 2, 3)
    rows.flush()

    assert read_table(tmp_path / "sent.arrow", SENT).num_rows == 1
    rows.close()
