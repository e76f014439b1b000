"""What the consumer's agent notes of its group: tenures, resets and commits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from streambed.agents.agent import Agent
from streambed.agents.consumer import finish
from streambed.record.ledger.schemas import ASSIGNMENTS, COMMITS, SEEN
from streambed.record.tables import read_table
from tests.support.consumer import Client, Message, kafka_reading, noting


def noted(folder: Path, name: str, *columns: str) -> list[tuple[Any, ...]]:
    """These columns of the table of assignments or of commits."""
    schema = {"assignments": ASSIGNMENTS, "commits": COMMITS, "seen": SEEN}[name]
    rows = read_table(folder / "history" / f"{name}-reader-1.arrow", schema).to_pylist()
    return [tuple(row[column] for column in columns) for row in rows]


ASSIGNMENT = ("tenure", "partition", "change", "offset", "origin")


def test_a_tenure_begins_at_the_committed_offset_or_by_the_reset_policy(
    agent: Agent, tmp_path: Path
) -> None:
    one = kafka_reading(agent, Client(), ledger=True)
    reader: Any = one.reader
    parts = [TopicPartition("lines", 0), TopicPartition("lines", 1)]

    reader.revoked(reader.client, parts[:1])
    reader.assigned(reader.client, parts)
    reader.lost(reader.client, parts[1:])
    finish(agent, [one])

    assert noted(tmp_path, "assignments", *ASSIGNMENT) == [
        (1, 0, "assigned", 0, "earliest"),
        (1, 0, "revoked", 0, None),
        (2, 0, "assigned", 4, "committed"),
        (3, 1, "assigned", 2, "earliest"),
        (3, 1, "lost", 2, None),
        (2, 0, "closed", 4, None),
    ]


def test_nothing_is_stored_of_a_partition_that_was_lost(agent: Agent) -> None:
    one, calls = noting(agent, 3)
    one.take(0)

    one.reader.lost(one.reader.client, [TopicPartition("lines", 0)])  # type: ignore[attr-defined]

    assert calls == ["flush seen", "flush kept"]


@pytest.mark.parametrize(
    ("start", "offset", "resets"),
    [(0, 3, 0), (2, 3, 1), (3, 3, 1)],
    ids=["a gap in the log", "records before the position deleted", "all before deleted"],
)
def test_a_jump_is_a_reset_if_the_position_is_no_longer_in_the_log(
    agent: Agent, tmp_path: Path, start: int, offset: int, resets: int
) -> None:
    client = Client(offset)
    client.start = start
    one = kafka_reading(agent, client, ledger=True)
    one.take(0)
    finish(agent, [one])

    rows = noted(tmp_path, "assignments", "tenure", "change", "offset")
    assert rows.count((1, "reset", offset)) == resets


def test_a_position_that_moves_back_is_a_reset(agent: Agent, tmp_path: Path) -> None:
    client = Client(0, 1, 2)
    one = kafka_reading(agent, client, ledger=True)
    one.take(0)
    client.records = [Message(1)]
    one.take(0)
    finish(agent, [one])

    changes = noted(tmp_path, "assignments", "change", "offset")
    assert changes == [("assigned", 0), ("reset", 1), ("closed", 2)]


def test_every_answer_to_a_commit_is_noted(agent: Agent, tmp_path: Path) -> None:
    client = Client(3)
    one = kafka_reading(agent, client, ledger=True, commit_on_flush=True)
    one.take(0)
    one.flush()
    client.records, client.refusal = [Message(4)], KafkaError(KafkaError.ILLEGAL_GENERATION)
    one.take(0)
    one.flush()
    reader: Any = one.reader
    reader.on_commit(None, [TopicPartition("lines", 0, 9), TopicPartition("lines", 1, -1001)])
    finish(agent, [one])

    rows = noted(tmp_path, "commits", "partition", "offset", "error")
    assert [(partition, offset) for partition, offset, _ in rows] == [(0, 4), (0, 5), (0, 9)]
    assert [error is None for *_, error in rows] == [True, False, True]


def test_no_two_polls_have_the_same_time(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(0, 1)
    one = kafka_reading(agent, client, ledger=True)
    monkeypatch.setattr("streambed.agents.reading.now_ns", lambda: 1_000)
    one.take(0)
    client.records = [Message(2)]
    one.take(0)
    finish(agent, [one])

    assert noted(tmp_path, "seen", "offset", "seen") == [(0, 1_000), (1, 1_000), (2, 1_001)]
