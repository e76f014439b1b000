"""The consumer's agent: rows are flushed before offsets are stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from streambed.agents.agent import Agent
from streambed.agents.consumer import finish, read_once, report
from streambed.agents.reader import Reader, ReaderSetup, ReadRecord
from streambed.record.gauges import ReaderGauge, read_gauge
from streambed.record.ledger.schemas import SEEN
from streambed.record.tables import key_hash, read_table
from tests.support.consumer import Client, kafka_reading, noting, reading


def test_only_the_first_record_is_waited_for(agent: Agent) -> None:
    client = Client(3, 4, 5)
    one = kafka_reading(agent, client)

    one.take(0.1)

    assert client.waits == [0.1, 0], (
        "what has come would be kept back until the reader's patience is over"
    )
    assert (one.seen, one.gauge().positions) == (3, {"lines": {0: 6}})


def test_the_gauge_of_many_tells_of_the_slowest(agent: Agent, tmp_path: Path) -> None:
    fast, slow = kafka_reading(agent, Client(7)), kafka_reading(agent, Client(1, 2))
    for each in (fast, slow):
        each.take(0)

    report(agent, [fast, slow])

    gauge = read_gauge(tmp_path / "gauges" / "reader.json")
    assert isinstance(gauge, ReaderGauge)
    assert gauge.positions == {"lines": {0: 3}}
    assert (gauge.seen, gauge.lag, gauge.ready) == (3, 7 + 2, True)


def test_a_message_is_noted_with_its_place_and_its_identity(agent: Agent, tmp_path: Path) -> None:
    one = kafka_reading(agent, Client(3), ledger=True)
    one.take(0)
    finish(agent, [one])

    (row,) = read_table(tmp_path / "history" / "seen-reader-1.arrow", SEEN).to_pylist()
    assert row.pop("seen") > 0
    place = {"topic": "lines", "partition": 0, "offset": 3, "timestamp": 1_000}
    assert row == {
        "consumer": "reader",
        "group": "readers",
        "producer": "poet/h1",
        "sequence": 7,
        "key": key_hash(b"k"),
        "life": 1,
        "tenure": 1,
        "transaction": None,
        **place,
    }


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

    one.reader.revoked(one.reader.client, [TopicPartition("lines", 0)])  # type: ignore[attr-defined]

    assert calls == ["flush seen", "flush kept", ("store", [(0, 4, 4)])]
    assert one.gauge().positions == {}


def test_a_consumer_that_leaves_flushes_stores_and_then_closes(agent: Agent) -> None:
    one, calls = noting(agent, 3)
    one.take(0)

    finish(agent, [one])

    assert calls == [
        "flush seen",
        "flush kept",
        ("store", [(0, 4, 4)]),
        "close seen",
        "close kept",
        "close",
    ]


def test_records_that_are_taken_and_not_noted_are_not_committed(agent: Agent) -> None:
    one, calls = noting(agent, 3, commit_on_flush=True)
    one.reader.take(0, most=1)
    one.unnoted = True

    one.flush()
    one.unnoted = False
    one.flush()

    flushed = ["flush seen", "flush kept"]
    assert calls == [*flushed, *flushed, ("commit", [(0, 4)])]


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
def test_rows_are_flushed_as_often_as_offsets_are_committed(
    agent: Agent, settings: dict[str, str], flush_ms: int
) -> None:
    assert kafka_reading(agent, Client(), settings=settings).reader.flush_ns == flush_ms * 1_000_000


class PlainReader(Reader):
    """A client of a broker without partitions and offsets."""

    def __init__(self, setup: ReaderSetup) -> None:
        self.records = [
            ReadRecord("lines", identity="poet/1", value=b"a"),
            ReadRecord("lines", value=b"b"),
        ]
        self.calls: list[str] = []

    @property
    def ended(self) -> bool:
        return not self.records

    def join(self) -> None:
        self.ready = True

    def take(self, wait_s: float, *, most: int) -> list[ReadRecord]:
        taken, self.records = self.records, []
        return taken

    def flushed(self) -> None:
        self.calls.append("flushed")

    def leave(self) -> None:
        self.calls.append("leave")


def test_a_broker_without_offsets_has_none_in_the_ledger_and_no_positions(
    agent: Agent, tmp_path: Path
) -> None:
    one = reading(agent, PlainReader, ledger=True)

    read_once(agent, one)

    rows = read_table(tmp_path / "history" / "seen-reader-1.arrow", SEEN).to_pylist()
    assert [
        (row["partition"], row["offset"], row["producer"], row["sequence"]) for row in rows
    ] == [
        (-1, -1, "poet", 1),
        (-1, -1, None, None),
    ]
    assert one.reader.calls == ["flushed", "leave"]  # type: ignore[attr-defined]
    assert read_gauge(tmp_path / "gauges" / "reader.json") == ReaderGauge(
        ready=True, done=True, seen=2
    )
