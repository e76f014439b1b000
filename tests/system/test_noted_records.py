"""The ledger against a real broker: what a sender notes is what a consumer finds, and failures are
noted for what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streambed.agents.producer.ledger_sender import LedgerSender
from streambed.agents.producer.record_source import Record, Source
from streambed.agents.producer.sender import UNDECIDED, SenderSetup
from streambed.agents.producer.sent_rows import SentRows
from streambed.agents.producer.timetable import Due
from streambed.agents.producer.transactional_sender import TransactionalSender
from streambed.agents.record_identity import IDENTITY
from streambed.record import now_ns, wait_until
from streambed.record.ledger.schemas import SENT, TRANSACTIONS, Outcome
from streambed.record.tables import Table, key_hash, read_table
from tests.support.lone_broker import LoneBroker, lone_broker

pytestmark = [pytest.mark.system, pytest.mark.together(15)]

PARTITIONS = {"narrow": 1, "wide": 3, "stuck": 1, "alike": 1, "torn": 1, "small": 1}
SETTINGS = {"acks": "all", "linger.ms": "5"}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoneBroker]:
    with lone_broker(tmp_path_factory.mktemp("broker") / "kafka", flags=["-Xmx256m"]) as started:
        admin = AdminClient({"bootstrap.servers": started.bootstrap})
        for made in admin.create_topics(
            [
                NewTopic(name, count, 1, config={"max.message.bytes": "2000"})
                if name == "small"
                else NewTopic(name, count, 1)
                for name, count in PARTITIONS.items()
            ]
        ).values():
            made.result()
        yield started


class Noting:
    """A sender with its own ledger."""

    def __init__(
        self,
        folder: Path,
        broker: LoneBroker,
        topics: list[str],
        record_of: Callable[[int], Record],
        **settings: Any,
    ) -> None:
        source = Source(
            topics=topics,
            topic_of=lambda sequence: topics[sequence % len(topics)],
            record_of=record_of,
            held=0,
        )
        self._path = folder / "sent.arrow"
        self._rows = SentRows(Table(self._path, SENT))
        client = {"bootstrap.servers": broker.bootstrap, **SETTINGS, **settings}
        agent: Any = SimpleNamespace(stopping=False, sync=lambda *_: None)
        self.sender = LedgerSender("poet/h1", agent, source, client, self._rows)
        self.sender.prepare()

    def send(self, numbers: range) -> int:
        """How many the client took before it was full."""
        taken = 0
        while taken < len(numbers) and (
            done := self.sender.send_all(Due(numbers[taken], list(numbers[taken:])))
        ):
            taken += done
        return taken

    def settled(self) -> list[dict[str, Any]]:
        assert wait_until(lambda: self.sender.poll(0.05) or not self.sender.open, limit_s=30)
        return self.rows()

    def rows(self) -> list[dict[str, Any]]:
        self._rows.close()
        return read_table(self._path, SENT).sort_by("sequence").to_pylist()


def read(broker: LoneBroker, topic: str, count: int) -> dict[str, Any]:
    """Messages of a topic by the name that their header gives."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "reader", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS[topic])])
    found: list[Any] = []
    assert wait_until(
        lambda: found.extend(consumer.consume(1000, 0.2)) or len(found) >= count, limit_s=30
    )
    consumer.close()
    assert not any(message.error() for message in found)
    return {dict(message.headers())[IDENTITY].decode(): message for message in found}


def varied(number: int) -> Record:
    """Keys or none, empty and other values, the same one again, headers or none."""
    key = (None, b"", b"k%d" % number)[number % 3]
    value = (b"", b"same", b"\x00value %d" % number, b"x" * (number % 700))[number % 4]
    return (
        key,
        value,
        [("unit", b"\x00c"), ("none", None), ("word", "wort")] if number % 5 == 0 else [],
    )


def test_every_record_is_noted_where_a_consumer_finds_it(
    tmp_path: Path, broker: LoneBroker
) -> None:
    count, first = 20_000, 98_765
    began = now_ns()
    noting = Noting(
        tmp_path, broker, ["narrow", "wide"], varied, **{"queue.buffering.max.messages": "100000"}
    )

    assert all(noting.send(range(number, number + 1)) for number in range(10))
    assert noting.send(range(first, first + count)) == count
    rows = noting.settled()

    assert [row["sequence"] for row in rows] == [*range(10), *range(first, first + count)]
    read_back = {topic: read(broker, topic, len(rows) // 2) for topic in ("narrow", "wide")}
    assert sum(map(len, read_back.values())) == len(rows)
    for row in rows:
        message = read_back[row["topic"]][f"poet/h1/{row['sequence']}"]
        key, value, headers = varied(row["sequence"])
        assert (row["partition"], row["offset"]) == (message.partition(), message.offset())
        assert (message.key(), message.value()) == (key, value)
        assert row["key"] == (None if key is None else key_hash(key))
        own = [
            (name, found.encode() if isinstance(found, str) else found) for name, found in headers
        ]
        assert message.headers() == [*own, (IDENTITY, f"poet/h1/{row['sequence']}".encode())]
        assert (
            row["producer"] == "poet/h1" and row["due"] == row["sequence"] and row["error"] is None
        )
        assert began < row["sent"] < row["acked"] < now_ns()
        assert (row["outcome"], row["life"], row["transaction"]) == (Outcome.WRITTEN, 1, None)
    assert {row["partition"] for row in rows if row["topic"] == "wide"} == {0, 1, 2}
    assert (noting.sender.sent, noting.sender.acked, noting.sender.failed, noting.sender.open) == (
        len(rows),
        len(rows),
        0,
        0,
    )


def test_a_full_client_takes_no_more_until_answers_come(tmp_path: Path, broker: LoneBroker) -> None:
    noting = Noting(
        tmp_path,
        broker,
        ["stuck"],
        lambda number: (None, b"held", []),
        **{"queue.buffering.max.messages": "50"},
    )
    broker.pause()
    try:
        assert (noting.send(range(70)), noting.send(range(50, 51)), noting.send(range(50, 70))) == (
            50,
            0,
            0,
        )
    finally:
        broker.resume()
    assert wait_until(lambda: noting.sender.poll(0.05) or not noting.sender.open, limit_s=30)
    assert noting.send(range(50, 60)) == 10

    rows = noting.settled()

    assert [(row["sequence"], row["error"]) for row in rows] == [
        (number, None) for number in range(60)
    ]
    assert len({row["offset"] for row in rows}) == 60


def test_a_record_that_is_not_answered_in_time_is_noted_with_the_reason(
    tmp_path: Path, broker: LoneBroker
) -> None:
    noting = Noting(
        tmp_path,
        broker,
        ["stuck"],
        lambda number: (None, b"late", []),
        **{"message.timeout.ms": "3000"},
    )
    noting.send(range(3))
    assert wait_until(lambda: noting.sender.poll(0.05) or not noting.sender.open, limit_s=30)
    broker.pause()
    try:
        noting.send(range(3, 6))
        rows = noting.settled()
    finally:
        broker.resume()

    assert [row["error"] and "_MSG_TIMED_OUT" in row["error"] for row in rows] == [None] * 3 + [
        True
    ] * 3
    assert [(row["acked"], row["offset"], row["topic"]) for row in rows[3:]] == [
        (None, None, "stuck")
    ] * 3
    assert [row["outcome"] for row in rows] == [Outcome.WRITTEN] * 3 + [Outcome.UNKNOWN] * 3
    assert (noting.sender.acked, noting.sender.failed) == (3, 3)


def test_what_is_under_way_when_it_gives_up_is_undecided(
    tmp_path: Path, broker: LoneBroker
) -> None:
    noting = Noting(tmp_path, broker, ["stuck"], lambda number: (None, b"lost", []))
    broker.pause()
    try:
        noting.send(range(4))
        noting.sender.give_up()
    finally:
        broker.resume()

    rows = noting.rows()
    assert [(row["error"], row["outcome"]) for row in rows] == [(UNDECIDED, Outcome.UNKNOWN)] * 4
    assert noting.sender.open == 0


def test_records_that_linger_are_sent_when_it_gives_up(tmp_path: Path, broker: LoneBroker) -> None:
    noting = Noting(
        tmp_path, broker, ["stuck"], lambda number: (None, b"soon", []), **{"linger.ms": "60000"}
    )
    noting.send(range(4))
    noting.sender.give_up()

    assert [row["error"] for row in noting.rows()] == [None] * 4


@pytest.mark.parametrize("count", [15, 100])
def test_a_record_that_is_too_large_is_refused_in_words(
    tmp_path: Path, broker: LoneBroker, count: int
) -> None:
    noting = Noting(
        tmp_path,
        broker,
        ["stuck"],
        lambda number: (None, bytes(2_000_000 if number == 14 else 1), []),
    )

    with pytest.raises(
        SystemExit, match=r"does not take record 14 of poet/h1: .*[Mm]essage size too large"
    ):
        noting.send(range(count))
    noting.sender.give_up()
    assert [row["error"] for row in noting.rows()] == [None] * 14


def test_equal_records_have_their_own_names_and_rows(tmp_path: Path, broker: LoneBroker) -> None:
    noting = Noting(
        tmp_path,
        broker,
        ["alike"],
        lambda number: pytest.fail(f"record {number} was made by itself"),
    )
    noting.sender.source = replace(noting.sender.source, same=(None, b"alike", []))

    assert noting.send(range(1500)) == 1500
    rows = noting.settled()

    read_back = read(broker, "alike", 1500)
    assert [row["offset"] for row in rows] == [
        read_back[f"poet/h1/{number}"].offset() for number in range(1500)
    ]
    assert {message.value() for message in read_back.values()} == {b"alike"}


def test_without_acknowledgements_the_outcome_is_unknown(
    tmp_path: Path, broker: LoneBroker
) -> None:
    noting = Noting(tmp_path, broker, ["stuck"], lambda number: (None, b"shouted", []), acks="0")
    noting.send(range(3))

    assert [row["outcome"] for row in noting.settled()] == [Outcome.UNKNOWN] * 3


def test_a_record_that_the_broker_refuses_is_surely_not_written(
    tmp_path: Path, broker: LoneBroker
) -> None:
    noting = Noting(tmp_path, broker, ["small"], lambda number: (None, bytes(3000), []))
    noting.send(range(2))

    rows = noting.settled()

    assert all("MSG_SIZE_TOO_LARGE" in row["error"] for row in rows)
    assert [row["outcome"] for row in rows] == [Outcome.NOT_WRITTEN] * 2


class InTransactions:
    """A sender of transactions of two records, with its own tables."""

    def __init__(self, folder: Path, broker: LoneBroker, name: str) -> None:
        folder.mkdir()
        self._folder = folder
        self._rows = SentRows(
            Table(folder / "sent.arrow", SENT),
            transactions=Table(folder / "transactions.arrow", TRANSACTIONS),
        )
        source = Source(
            topics=["torn"],
            topic_of=lambda sequence: "torn",
            record_of=lambda sequence: (None, b"x", []),
            held=0,
        )
        agent: Any = SimpleNamespace(stopping=False, sync=lambda *_: None)
        client = {"bootstrap.servers": broker.bootstrap, **SETTINGS}
        self.sender = TransactionalSender(
            SenderSetup(
                agent=agent, name=name, source=source, client=client, rows=self._rows, transaction=2
            ),
            self._rows,
        )
        self.sender.prepare()

    def tables(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The rows of both tables, which are then closed."""
        self._rows.close()
        sent = read_table(self._folder / "sent.arrow", SENT)
        ended = read_table(self._folder / "transactions.arrow", TRANSACTIONS)
        return sent.sort_by("sequence").to_pylist(), ended.to_pylist()


def test_a_fenced_producer_notes_what_it_had_taken_as_unknown(
    tmp_path: Path, broker: LoneBroker
) -> None:
    first = InTransactions(tmp_path / "first", broker, "poet")
    first.sender.send_all(Due(0, [1, 2, 3]))
    assert wait_until(lambda: first.sender.client.flush(0.1) == 0, limit_s=10)
    second = InTransactions(tmp_path / "second", broker, "poet")
    second.sender.send_all(Due(10, [1, 2]))

    with pytest.raises(SystemExit, match="the transaction of poet failed"):
        first.sender.settle()

    sent, ended = first.tables()
    assert [(row["sequence"], row["transaction"], row["outcome"]) for row in sent] == [
        (0, 1, Outcome.WRITTEN),
        (1, 1, Outcome.WRITTEN),
        (2, 2, Outcome.UNKNOWN),
    ]
    assert all(row["offset"] is not None for row in sent), "the third was delivered, too"
    assert [(row["transaction"], row["outcome"]) for row in ended] == [
        (1, Outcome.WRITTEN),
        (2, Outcome.UNKNOWN),
    ]
    assert all(0 < row["began"] < row["ended"] for row in ended)
    assert [row["outcome"] for row in second.tables()[0]] == [Outcome.WRITTEN] * 2
