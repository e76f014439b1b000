"""The outcome of a send is the client's own word, and never surer than that."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streambed.agents.kafka.librdkafka import NOT_PERSISTED, PERSISTED, POSSIBLY_PERSISTED
from streambed.agents.producer.outcomes import acks_of, outcome_of_acked, outcome_of_failed
from streambed.agents.producer.record_source import Source
from streambed.agents.producer.sender import UNDECIDED, SenderSetup
from streambed.agents.producer.sent_rows import SentRows
from streambed.agents.producer.timetable import Due
from streambed.agents.producer.transactional_sender import TransactionalSender
from streambed.record.ledger.schemas import SENT, TRANSACTIONS, Outcome
from streambed.record.tables import Table, read_table

TOO_LARGE = KafkaError.MSG_SIZE_TOO_LARGE
TIMED_OUT = KafkaError._MSG_TIMED_OUT
NOT_LEADER = KafkaError.NOT_LEADER_FOR_PARTITION


@pytest.mark.parametrize(
    ("error", "status", "acks", "outcome"),
    [
        (TOO_LARGE, NOT_PERSISTED, "all", Outcome.NOT_WRITTEN),
        (TOO_LARGE, NOT_PERSISTED, "leader", Outcome.NOT_WRITTEN),
        (TOO_LARGE, NOT_PERSISTED, "none", Outcome.UNKNOWN),
        (TOO_LARGE, POSSIBLY_PERSISTED, "all", Outcome.UNKNOWN),
        (TIMED_OUT, POSSIBLY_PERSISTED, "all", Outcome.UNKNOWN),
        (TIMED_OUT, NOT_PERSISTED, "all", Outcome.UNKNOWN),
        (TIMED_OUT, PERSISTED, "all", Outcome.WRITTEN),
        (TIMED_OUT, PERSISTED, "leader", Outcome.UNKNOWN),
        (NOT_LEADER, NOT_PERSISTED, "all", Outcome.UNKNOWN),
        (KafkaError._PURGE_QUEUE, NOT_PERSISTED, "all", Outcome.UNKNOWN),
        (KafkaError._PURGE_INFLIGHT, POSSIBLY_PERSISTED, "all", Outcome.UNKNOWN),
    ],
)
def test_only_an_error_that_no_retry_can_hide_says_that_nothing_was_written(
    error: int, status: int, acks: Any, outcome: Outcome
) -> None:
    assert outcome_of_failed(error, status, acks) == outcome


@pytest.mark.parametrize(
    ("client", "acks", "outcome"),
    [
        ({}, "all", Outcome.WRITTEN),
        ({"acks": "-1"}, "all", Outcome.WRITTEN),
        ({"acks": "1"}, "leader", Outcome.WRITTEN),
        ({"request.required.acks": "0"}, "none", Outcome.UNKNOWN),
        ({"acks": "0"}, "none", Outcome.UNKNOWN),
    ],
)
def test_without_acknowledgements_nothing_is_known(
    client: dict[str, str], acks: str, outcome: Outcome
) -> None:
    assert acks_of(client) == acks
    assert outcome_of_acked(acks_of(client)) == outcome


class Trouble:
    """An error of a transaction, as confluent-kafka has it."""

    def __init__(self, words: str, *, abort: bool = False, again: bool = False) -> None:
        self.words, self._abort, self._again = words, abort, again

    def str(self) -> str:
        return self.words

    def txn_requires_abort(self) -> bool:
        return self._abort

    def retriable(self) -> bool:
        return self._again


class Client:
    """Delivers every record at the next flush; ends of transactions fail as told."""

    def __init__(self, *, commits: list[Trouble | None], aborts: list[Trouble | None]) -> None:
        self._ends = {"commit": commits, "abort": aborts}
        self._waiting: list[Any] = []
        self.deaf = False
        self.fails: KafkaError | None = None
        self.refuses = 0

    def begin_transaction(self) -> None: ...

    def produce(self, topic: str, value: bytes, key: bytes, *, on_delivery: Any, **_: Any) -> None:
        if self.refuses:
            self.refuses -= 1
            raise KafkaException(Trouble("erroneous state"))
        self._waiting.append(on_delivery)

    def flush(self, wait_s: float) -> int:
        waiting, self._waiting = self._waiting, []
        for offset, on_delivery in enumerate(() if self.deaf else waiting):
            place = None if self.fails else offset  # The client knows no place of a failed record.
            message = SimpleNamespace(partition=lambda: 0, offset=lambda at=place: at)
            on_delivery(self.fails, message)
        return 0

    def purge(self) -> None: ...

    def commit_transaction(self, wait_s: float) -> None:
        self._end("commit")

    def abort_transaction(self, wait_s: float) -> None:
        self._end("abort")

    def _end(self, how: str) -> None:
        trouble = self._ends[how].pop(0)
        if trouble:
            raise KafkaException(trouble)


class Noted:
    """A transactional sender of two records each, and its two tables."""

    def __init__(self, folder: Path, client: Client) -> None:
        self._folder = folder
        self._rows = SentRows(
            Table(folder / "sent.arrow", SENT),
            transactions=Table(folder / "transactions.arrow", TRANSACTIONS),
        )
        source = Source(
            topics=["lines"],
            topic_of=lambda sequence: "lines",
            record_of=lambda sequence: (None, b"x", []),
            held=0,
        )
        agent: Any = SimpleNamespace(stopping=False, sync=lambda *_: None)
        setup = SenderSetup(
            agent=agent, name="poet", source=source, client={}, rows=self._rows, transaction=2
        )
        self.sender = TransactionalSender(setup, self._rows)
        self.sender.client = client  # type: ignore[assignment]

    def tables(self) -> tuple[list[Any], list[Any]]:
        """Sequence, offset, outcome and transaction of records; number and outcome of the rest."""
        self._rows.close()
        sent = read_table(self._folder / "sent.arrow", SENT).sort_by("sequence").to_pylist()
        ended = read_table(self._folder / "transactions.arrow", TRANSACTIONS).to_pylist()
        return (
            [(row["sequence"], row["offset"], row["outcome"], row["transaction"]) for row in sent],
            [(row["transaction"], row["outcome"], row["error"]) for row in ended],
        )


def test_a_committed_transaction_is_written(tmp_path: Path) -> None:
    noted = Noted(tmp_path, Client(commits=[Trouble("later", again=True), None], aborts=[]))

    noted.sender.send_all(Due(0, [1, 2]))

    sent, ended = noted.tables()
    assert sent == [(0, 0, Outcome.WRITTEN, 1), (1, 1, Outcome.WRITTEN, 1)]
    assert ended == [(1, Outcome.WRITTEN, None)]


def test_a_record_that_the_broker_refused_has_no_place(tmp_path: Path) -> None:
    client = Client(commits=[Trouble("refused", abort=True)], aborts=[None])
    client.fails = KafkaError(KafkaError.INVALID_TXN_STATE)
    noted = Noted(tmp_path, client)

    noted.sender.send_all(Due(0, [1, 2]))

    sent, ended = noted.tables()
    assert [(offset, outcome) for _, offset, outcome, _ in sent] == [(None, Outcome.ABORTED)] * 2
    assert [outcome for _, outcome, _ in ended] == [Outcome.ABORTED]


def test_an_abort_that_succeeded_is_certain_and_keeps_offsets(tmp_path: Path) -> None:
    client = Client(commits=[Trouble("a record timed out", abort=True)], aborts=[None])
    noted = Noted(tmp_path, client)

    noted.sender.send_all(Due(0, [1, 2]))

    sent, ended = noted.tables()
    assert sent == [(0, 0, Outcome.ABORTED, 1), (1, 1, Outcome.ABORTED, 1)]
    assert ended == [(1, Outcome.ABORTED, "aborted: a record timed out")]


def test_an_abort_that_failed_after_a_commit_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    client = Client(
        commits=[Trouble("lost connection", abort=True)], aborts=[Trouble("fenced", abort=True)]
    )
    noted = Noted(tmp_path, client)

    noted.sender.send_all(Due(0, [1, 2]))

    sent, ended = noted.tables()
    assert [outcome for _, _, outcome, _ in sent] == [Outcome.UNKNOWN] * 2
    assert ended == [(1, Outcome.UNKNOWN, "undecided: lost connection; fenced")]


def test_a_fatal_error_leaves_rows_for_all_that_was_taken(tmp_path: Path) -> None:
    client = Client(commits=[Trouble("fenced")], aborts=[])
    noted = Noted(tmp_path, client)
    client.deaf = True

    with pytest.raises(SystemExit, match="the transaction of poet failed: fenced"):
        noted.sender.send_all(Due(0, [1, 2]))

    sent, ended = noted.tables()
    assert sent == [(0, None, Outcome.UNKNOWN, 1), (1, None, Outcome.UNKNOWN, 1)]
    assert ended == [(1, Outcome.UNKNOWN, "undecided: fenced")]
    assert noted.sender.open == 0


def test_a_client_that_must_abort_first_takes_the_record_in_the_next_transaction(
    tmp_path: Path,
) -> None:
    client = Client(commits=[Trouble("timed out", abort=True), None], aborts=[None])
    noted = Noted(tmp_path, client)
    noted.sender.send_all(Due(0, [1]))
    client.refuses = 1

    assert noted.sender.send_all(Due(1, [2, 3])) == 0
    assert noted.sender.send_all(Due(1, [2, 3])) == 2

    sent, ended = noted.tables()
    assert [(sequence, outcome, number) for sequence, _, outcome, number in sent] == [
        (0, Outcome.ABORTED, 1),
        (1, Outcome.WRITTEN, 2),
        (2, Outcome.WRITTEN, 2),
    ]
    assert [number for number, _, _ in ended] == [1, 2]


def test_what_is_open_when_the_run_stops_is_unknown(tmp_path: Path) -> None:
    noted = Noted(tmp_path, Client(commits=[], aborts=[]))
    noted.sender.send_all(Due(0, [1]))
    noted.sender.agent.stopping = True

    noted.sender.give_up()

    sent, ended = noted.tables()
    assert sent == [(0, 0, Outcome.UNKNOWN, 1)]
    assert ended == [(1, Outcome.UNKNOWN, UNDECIDED)]
