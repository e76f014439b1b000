"""A consumer agent notes what a reader takes; nothing is committed before it is in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streambed.agents.agent import Agent
from streambed.agents.consumer import finish, read_once, report
from streambed.agents.kafka.reader import KafkaReader
from streambed.agents.reader import Reader, ReaderSetup, ReadRecord
from streambed.agents.reading import Reading
from streambed.record.gauges import ReaderGauge, read_gauge
from streambed.record.ledger.schemas import ASSIGNMENTS, COMMITS, SEEN
from streambed.record.orders import ConsumerMember, ConsumerOrder
from streambed.record.tables import key_hash, read_table


class Message:
    """As much of a message of librdkafka as is asked for."""

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

    def headers(self) -> list[tuple[str, bytes]]:
        return [("other", b"x"), ("sb", b"poet/h1/7")]

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return b"line"

    def leader_epoch(self) -> int:
        return 4


class Client:
    """Gives these records, and remembers what it was asked."""

    def __init__(self, *offsets: int, calls: list[Any] | None = None) -> None:
        self.records = [Message(offset) for offset in offsets]
        self.waits: list[float] = []
        self.calls: list[Any] = [] if calls is None else calls
        self.start = 0
        self.refusal: KafkaError | None = None

    def poll(self, wait_s: float) -> Message | None:
        self.waits.append(wait_s)
        return self.records.pop(0) if self.records else None

    def consume(self, count: int, wait_s: float) -> list[Message]:
        self.waits.append(wait_s)
        taken, self.records = self.records, []
        return taken

    def get_watermark_offsets(
        self, part: Any, cached: bool = False, timeout: float = 0
    ) -> tuple[int, int]:
        return self.start, 10

    def assign(self, parts: list[TopicPartition]) -> None:
        self.calls.append(("assign", [(part.partition, part.offset) for part in parts]))

    def committed(self, parts: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        known = {0: 4}
        return [
            TopicPartition(part.topic, part.partition, known.get(part.partition, -1001))
            for part in parts
        ]

    def offsets_for_times(
        self, parts: list[TopicPartition], timeout: float
    ) -> list[TopicPartition]:
        return [TopicPartition(part.topic, part.partition, 2) for part in parts]

    def position(self, parts: list[Any]) -> list[Any]:
        return parts

    def store_offsets(self, offsets: list[TopicPartition]) -> None:
        self.calls.append(
            ("store", [(part.partition, part.offset, part.leader_epoch) for part in offsets])
        )

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> list[TopicPartition]:
        self.calls.append(("commit", [(part.partition, part.offset) for part in offsets]))
        if self.refusal:
            raise KafkaException(self.refusal)
        return offsets

    def close(self) -> None:
        self.calls.append("close")


class Ledger:
    """A table that remembers when it was flushed."""

    def __init__(self, name: str, calls: list[Any]) -> None:
        self.name = name
        self.calls = calls

    def extend(self, rows: Any) -> None:
        """Nobody looks."""

    def add(self, records: Any, seen_ns: int) -> None:
        """Nobody looks."""

    def flush(self) -> None:
        self.calls.append(f"flush {self.name}")

    def close(self) -> None:
        self.calls.append(f"close {self.name}")


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.setenv("STREAMBED_RUN", str(tmp_path))
    monkeypatch.setenv("STREAMBED_PROCESS", "reader")
    (tmp_path / "gauges").mkdir()
    (tmp_path / "history").mkdir()
    return Agent()


def reading(agent: Agent, make: Callable[[ReaderSetup], Reader], **options: Any) -> Reading:
    member = ConsumerMember(name="reader", group="readers", client={"group.id": "readers"})
    order = ConsumerOrder(
        reader="", members=(member,), topics=("lines",), client=options.pop("settings", {})
    )
    return Reading(agent, member, order, make, **{"ledger": False, **options})


def kafka_reading(agent: Agent, client: Client, **options: Any) -> Reading:
    def make(setup: ReaderSetup) -> KafkaReader:
        reader = KafkaReader(setup)
        reader.client.close()
        reader.client, reader.ready = client, True  # type: ignore[assignment]
        reader.next = {("lines", 0): 0}
        setup.tenures.begin(("lines", 0), 0, "earliest")
        return reader

    return reading(agent, make, **options)


def noting(agent: Agent, *offsets: int, **options: Any) -> tuple[Reading, list[Any]]:
    """A consumer with both tables, and all that it asks of them and of its client, in order."""
    calls: list[Any] = []
    one = kafka_reading(agent, Client(*offsets, calls=calls), **options)
    one.rows, one.kept = Ledger("seen", calls), Ledger("kept", calls)  # type: ignore[assignment]
    return one, calls


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
