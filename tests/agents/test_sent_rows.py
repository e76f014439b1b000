from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from streambed.agents.producer.due_times import Due
from streambed.agents.producer.record_source import Source
from streambed.agents.producer.sender import RecordSender, SenderSetup
from streambed.agents.producer.sent_rows import AT_ONCE, Acked, SentRows
from streambed.record.tables import SENT, Table, read_table


def records(*rows: list[int]) -> Acked:
    return Acked(*np.array(rows).T)


def test_every_record_that_is_decided_has_its_row(tmp_path: Path) -> None:
    rows = SentRows(Table(tmp_path / "sent.arrow", SENT))
    poet, duke, lines, words = (rows.number(word) for word in ("poet/h1", "duke", "lines", "words"))

    rows.acked(poet, records([7, lines, 2, 40, 100, 110], [10, lines, 3, 41, 120, 130]), at_ns=150)
    rows.flush()
    rows.acked(poet, Acked(*[np.empty(0, np.int64)] * 6), at_ns=160)
    rows.lost(poet, 8, lines, 200, 210, "timed out")
    rows.flush()
    rows.acked(poet, records([9, lines, 0, 41, 300, 310]), at_ns=350)
    rows.acked(duke, records([7, words, 0, 42, 400, 410]), at_ns=450)
    rows.close()

    found = read_table(tmp_path / "sent.arrow", SENT).sort_by("due").to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("poet/h1", 7, "lines", 2, 40, 100, 110, 150, None),
        ("poet/h1", 10, "lines", 3, 41, 120, 130, 150, None),
        ("poet/h1", 8, "lines", None, None, 200, 210, None, "timed out"),
        ("poet/h1", 9, "lines", 0, 41, 300, 310, 350, None),
        ("duke", 7, "words", 0, 42, 400, 410, 450, None),
    ]


def test_what_was_flushed_is_kept_if_the_agent_dies(tmp_path: Path) -> None:
    rows = SentRows(Table(tmp_path / "sent.arrow", SENT))
    rows.acked(rows.number("poet"), records([1, rows.number("lines"), 0, 0, 1, 2]), at_ns=3)
    rows.flush()

    assert read_table(tmp_path / "sent.arrow", SENT).num_rows == 1
    rows.close()


def test_many_rows_do_not_wait_for_the_second_to_pass(tmp_path: Path) -> None:
    rows = SentRows(Table(tmp_path / "sent.arrow", SENT))
    poet, lines = rows.number("poet"), rows.number("lines")
    for number in range(AT_ONCE + 1):
        rows.acked(poet, records([number, lines, 0, number, 1, 2]), at_ns=3)

    assert read_table(tmp_path / "sent.arrow", SENT).num_rows == AT_ONCE
    rows.close()
    assert read_table(tmp_path / "sent.arrow", SENT)["sequence"].to_pylist() == list(
        range(AT_ONCE + 1)
    )


class DirectSender(RecordSender):
    """A client whose broker answers at once; it takes no more than three records."""

    def send(self, sequence: int, due: int) -> None:
        if self.sent == 3:
            raise BufferError
        self.sent += 1
        if sequence == 1:
            self.note_failed(sequence, due=due, sent=due + 5, why="refused")
        else:
            self.note_acked(sequence, due=due, sent=due + 5)


def test_a_sender_of_one_record_at_a_time_notes_what_became_of_each(tmp_path: Path) -> None:
    rows = SentRows(Table(tmp_path / "sent.arrow", SENT))
    source = Source(
        topics=["lines"],
        topic_of=lambda sequence: "lines",
        record_of=lambda sequence: (None, b"", []),
        held=0,
    )
    agent: Any = SimpleNamespace(stopping=False)
    sender = DirectSender(
        SenderSetup(agent=agent, name="poet", source=source, client={}, rows=rows)
    )

    assert sender.send_all(Due(0, [10, 20, 30, 40])) == 3
    rows.close()

    found = read_table(tmp_path / "sent.arrow", SENT).to_pylist()
    assert all(row.pop("acked") for row in found if row["error"] is None)
    assert [tuple(row.values()) for row in found] == [
        ("poet", 0, "lines", -1, -1, 10, 15, None),
        ("poet", 1, "lines", None, None, 20, 25, None, "refused"),
        ("poet", 2, "lines", -1, -1, 30, 35, None),
    ]
    assert (sender.sent, sender.acked, sender.failed, sender.open) == (3, 2, 1, 0)
