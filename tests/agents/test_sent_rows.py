from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from streambed.agents.producer.record_source import Source
from streambed.agents.producer.sender import RecordSender, SenderSetup
from streambed.agents.producer.sent_rows import AT_ONCE, Acked, Ended, SentRows
from streambed.agents.producer.timetable import Due
from streambed.record.ledger.schemas import SENT, TRANSACTIONS, Outcome
from streambed.record.tables import NO_KEY, Table, key_hash, read_table

WRITTEN, UNKNOWN = Outcome.WRITTEN, Outcome.UNKNOWN


def records(*rows: list[int]) -> Acked:
    return Acked(*np.array(rows).T)


def test_every_record_that_is_decided_has_its_row(tmp_path: Path) -> None:
    rows = SentRows(Table(tmp_path / "sent.arrow", SENT))
    poet, duke, lines, words = (rows.number(word) for word in ("poet/h1", "duke", "lines", "words"))

    rows.acked(
        poet,
        records([7, lines, 2, 40, 100, 110, -5], [10, lines, 3, 41, 120, 130, NO_KEY]),
        at_ns=150,
    )
    rows.flush()
    rows.acked(poet, Acked(*[np.empty(0, np.int64)] * 7), at_ns=160)
    rows.lost(poet, 8, lines, due=200, sent=210, key=9, why="timed out")
    rows.flush()
    rows.acked(poet, records([9, lines, 0, 41, 300, 310, 6]), at_ns=350)
    rows.acked(duke, records([7, words, 0, 42, 400, 410, 6]), at_ns=450)
    rows.close()

    found = read_table(tmp_path / "sent.arrow", SENT).sort_by("due").to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("poet/h1", 7, "lines", 2, 40, 100, 110, 150, None, -5, WRITTEN, 1, None),
        ("poet/h1", 10, "lines", 3, 41, 120, 130, 150, None, None, WRITTEN, 1, None),
        ("poet/h1", 8, "lines", None, None, 200, 210, None, "timed out", 9, UNKNOWN, 1, None),
        ("poet/h1", 9, "lines", 0, 41, 300, 310, 350, None, 6, WRITTEN, 1, None),
        ("duke", 7, "words", 0, 42, 400, 410, 450, None, 6, WRITTEN, 1, None),
    ]


def test_what_was_flushed_is_kept_if_the_agent_dies(tmp_path: Path) -> None:
    rows = SentRows(Table(tmp_path / "sent.arrow", SENT))
    rows.acked(rows.number("poet"), records([1, rows.number("lines"), 0, 0, 1, 2, NO_KEY]), at_ns=3)
    rows.flush()

    assert read_table(tmp_path / "sent.arrow", SENT).num_rows == 1
    rows.close()


def test_many_rows_do_not_wait_for_the_second_to_pass(tmp_path: Path) -> None:
    rows = SentRows(Table(tmp_path / "sent.arrow", SENT))
    poet, lines = rows.number("poet"), rows.number("lines")
    for number in range(AT_ONCE + 1):
        rows.acked(poet, records([number, lines, 0, number, 1, 2, NO_KEY]), at_ns=3)

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
            self.note_failed(sequence, due=due, sent=due + 5, why="refused", key=b"k")
        else:
            self.note_acked(sequence, due=due, sent=due + 5, key=b"k")


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
        ("poet", 0, "lines", -1, -1, 10, 15, None, key_hash(b"k"), WRITTEN, 1, None),
        ("poet", 1, "lines", None, None, 20, 25, None, "refused", key_hash(b"k"), UNKNOWN, 1, None),
        ("poet", 2, "lines", -1, -1, 30, 35, None, key_hash(b"k"), WRITTEN, 1, None),
    ]
    assert (sender.sent, sender.acked, sender.failed, sender.open) == (3, 2, 1, 0)


def test_an_aborted_record_keeps_its_position_and_its_transaction(tmp_path: Path) -> None:
    ended = Table(tmp_path / "transactions.arrow", TRANSACTIONS)
    rows = SentRows(Table(tmp_path / "sent.arrow", SENT), life=3, transactions=ended)
    poet, lines = rows.number("poet"), rows.number("lines")

    rows.acked(poet, records([1, lines, 0, 40, 10, 11, 5]), at_ns=20, transaction=1)
    rows.ended(poet, Ended(1, 9, 20, WRITTEN, ""))
    rows.lost(
        *(poet, 2, lines),
        due=30,
        sent=31,
        key=5,
        why="aborted: fenced",
        outcome=Outcome.ABORTED,
        position=(0, 42),
        transaction=2,
    )
    rows.ended(poet, Ended(2, 29, 40, Outcome.ABORTED, "aborted: fenced"))
    rows.close()

    found = read_table(tmp_path / "sent.arrow", SENT).sort_by("due").to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("poet", 1, "lines", 0, 40, 10, 11, 20, None, 5, WRITTEN, 3, 1),
        ("poet", 2, "lines", 0, 42, 30, 31, None, "aborted: fenced", 5, Outcome.ABORTED, 3, 2),
    ]
    transactions = read_table(tmp_path / "transactions.arrow", TRANSACTIONS).to_pylist()
    assert [tuple(row.values()) for row in transactions] == [
        ("poet", 3, 1, 9, 20, WRITTEN, None),
        ("poet", 3, 2, 29, 40, Outcome.ABORTED, "aborted: fenced"),
    ]
