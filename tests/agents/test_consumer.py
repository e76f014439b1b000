"""A consumer agent takes what has come, and does not wait for more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from confluent_kafka import TopicPartition

from streambed.agents.agent import Agent
from streambed.agents.consumer import Reading, finish, report
from streambed.record import read_json


class Record:
    """As much of a message as is asked for."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return "lines"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_000

    def headers(self) -> None:
        return None

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"line"

    def leader_epoch(self) -> int:
        return 4


class Client:
    """Gives these records, and remembers how long it was told to wait for each lot."""

    def __init__(self, *offsets: int, calls: list[Any] | None = None) -> None:
        self.records = [Record(offset) for offset in offsets]
        self.waits: list[float] = []
        self.calls: list[Any] = [] if calls is None else calls

    def poll(self, wait_s: float) -> Record | None:
        self.waits.append(wait_s)
        return self.records.pop(0) if self.records else None

    def consume(self, count: int, wait_s: float) -> list[Record]:
        self.waits.append(wait_s)
        taken, self.records = self.records, []
        return taken

    def get_watermark_offsets(self, part: Any, cached: bool) -> tuple[int, int]:
        return 0, 10

    def position(self, parts: list[Any]) -> list[Any]:
        return parts

    def store_offsets(self, offsets: list[TopicPartition]) -> None:
        self.calls.append(("store", [(part.partition, part.offset, part.leader_epoch) for part in offsets]))

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> None:
        self.calls.append(("commit", [(part.partition, part.offset) for part in offsets]))

    def close(self) -> None:
        self.calls.append("close")


class Ledger:
    """A table that remembers when it was flushed."""

    def __init__(self, name: str, calls: list[Any]) -> None:
        self.name = name
        self.calls = calls
        self.rows: list[tuple[Any, ...]] = []

    def append(self, *row: Any) -> None:
        self.rows.append(row)

    def flush(self) -> None:
        self.calls.append(f"flush {self.name}")

    def close(self) -> None:
        self.calls.append(f"close {self.name}")


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.setenv("STREAMBED_RUN", str(tmp_path))
    monkeypatch.setenv("STREAMBED_PROCESS", "reader")
    (tmp_path / "gauges").mkdir()
    return Agent()


def reading(agent: Agent, client: Client, **settings: str) -> Reading:
    client_settings = {"group.id": "reader", **settings}
    order = {"consumer": "reader", "group": "reader", "topics": ["lines"], "keep": False, "ledger": False, "client": client_settings}
    found = Reading(agent, order)
    found.client.close()
    found.client, found.ready = client, True  # type: ignore[assignment]
    found.next = {("lines", 0): 0}
    return found


def test_only_the_first_record_is_waited_for(agent: Agent) -> None:
    client = Client(3, 4, 5)
    one = reading(agent, client)

    one.take(0.1)

    assert client.waits == [0.1, 0], "what has come would be kept back until the reader's patience is over"
    assert (one.seen, one.next) == (3, {("lines", 0): 6})


def test_the_gauge_of_many_tells_of_the_slowest(agent: Agent, tmp_path: Path) -> None:
    fast, slow = reading(agent, Client(7)), reading(agent, Client(1, 2))
    for each in (fast, slow):
        each.take(0)

    report(agent, [fast, slow])

    gauge = read_json(tmp_path / "gauges" / "reader.json")
    assert gauge["positions"] == {"lines": {"0": 3}}
    assert (gauge["seen"], gauge["lag"], gauge["ready"]) == (3, 7 + 2, True)


def noting(agent: Agent, *offsets: int, **settings: str) -> tuple[Reading, list[Any]]:
    """A consumer with both tables, and all that it asks of them and of its client."""
    calls: list[Any] = []
    one = reading(agent, Client(*offsets, calls=calls), **settings)
    one.table, one.kept = Ledger("seen", calls), Ledger("kept", calls)  # type: ignore[assignment]
    return one, calls


def test_offsets_are_stored_once_their_rows_are_flushed(agent: Agent) -> None:
    one, calls = noting(agent, 3, 4)
    one.take(0)
    assert calls == [], "nothing may be committed that is not in the ledger"

    one.flush()
    one.flush()

    flushed = ["flush seen", "flush kept"]
    assert calls == [*flushed, ("store", [(0, 5, 4)]), *flushed]


def test_a_partition_that_is_revoked_is_flushed_and_stored_first(agent: Agent) -> None:
    one, calls = noting(agent, 3)
    one.take(0)

    one.revoked(one.client, [TopicPartition("lines", 0)])

    assert calls == ["flush seen", "flush kept", ("store", [(0, 4, 4)])]
    assert one.next == {}


def test_a_consumer_that_leaves_flushes_stores_and_then_closes(agent: Agent) -> None:
    one, calls = noting(agent, 3)
    one.take(0)

    finish(agent, [one])

    assert calls == ["flush seen", "flush kept", ("store", [(0, 4, 4)]), "close seen", "close kept", "close"]


@pytest.mark.parametrize(
    ("settings", "flush_ms"),
    [
        ({}, 1000),
        ({"auto.commit.interval.ms": "200"}, 200),
        ({"auto.commit.interval.ms": "60000"}, 1000),
        ({"auto.commit.interval.ms": "0"}, 1000),
        ({"auto.commit.interval.ms": "200", "enable.auto.commit": "false"}, 1000),
    ],
)
def test_rows_are_flushed_as_often_as_offsets_are_committed(agent: Agent, settings: dict[str, str], flush_ms: int) -> None:
    assert reading(agent, Client(), **settings).flush_ns == flush_ms * 1_000_000
