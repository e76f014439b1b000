"""Transactional sender with a ledger: records count once their transaction is committed."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from confluent_kafka import KafkaError, KafkaException, Message

from streambed.agents.producer.client_sender import ASK_S, ClientSender, why
from streambed.agents.producer.sender import UNDECIDED, SenderSetup
from streambed.agents.producer.sent_rows import Acked, Ended, SentRows
from streambed.agents.record_identity import IDENTITY, identity_text
from streambed.record import now_ns
from streambed.record.gates import COMMITTING
from streambed.record.ledger.schemas import Outcome
from streambed.record.tables import KeyHashes

NO_PLACE = -1


class Taken(NamedTuple):
    """A record of the open transaction, as it was handed to the client."""

    sequence: int
    topic: int
    due: int
    sent: int
    key: int


class Report(NamedTuple):
    """What the client reports of a record: where it was written, or why it was not."""

    partition: int
    offset: int
    error: str


class TransactionFailed(Exception):
    """The client can do no more with its transactions."""


class TransactionalSender(ClientSender):
    """One producer that writes the fate of records to the ledger, transaction by transaction."""

    def __init__(self, setup: SenderSetup, rows: SentRows) -> None:
        super().__init__(setup, {"transactional.id": setup.name})
        self._ledger = rows
        self._number = rows.number(self.name)
        self._topics = {topic: rows.number(topic) for topic in self.source.topics}
        self._records = setup.transaction
        self._transaction = 0
        """Counts the transactions of this process."""
        self._began_ns = 0
        """When the open transaction began; 0 if none is open."""
        self._taken: dict[int, Taken] = {}
        """The records of the open transaction, by sequence."""
        self._reports: dict[int, Report] = {}
        self._key_hashes = KeyHashes()

    def prepare(self) -> None:
        """Also register with the coordinator, which aborts what an earlier process left open."""
        super().prepare()
        try:
            self._retry(self.client.init_transactions)
        except TransactionFailed as failure:
            raise SystemExit(f"the transactions of {self.name} cannot begin: {failure}") from None

    def send(self, sequence: int, due: int) -> None:
        """Hand over one record; the last of a transaction commits it."""
        topic = self.source.topic_of(sequence)
        key, value, headers = self.source.record_of(sequence)
        identity = (IDENTITY, identity_text(self.name, sequence))
        taken = Taken(sequence, self._topics[topic], due, now_ns(), self._key_hashes[key])
        try:
            if not self._began_ns:
                self._begin()
            self.client.produce(
                topic,
                value,
                key,
                on_delivery=partial(self._on_delivery, sequence),
                headers=[*headers, identity],
            )
        except KafkaException as trouble:
            self._abort_and_retry(sequence, trouble)
        self._taken[sequence] = taken
        self.sent += 1
        if len(self._taken) == self._records:
            self.settle()

    def _begin(self) -> None:
        self.client.begin_transaction()
        self._began_ns = now_ns()
        self._transaction += 1

    def _abort_and_retry(self, sequence: int, trouble: KafkaException) -> None:
        """The client takes nothing while its transaction must be aborted: end it, then retry."""
        if not self._taken:
            raise SystemExit(
                f"the client does not take record {sequence} of {self.name}: "
                f"{trouble.args[0].str()}"
            ) from trouble
        self.settle()
        raise BufferError

    def settle(self) -> None:
        """Commit the open transaction, or abort it; once stopped, leave it undecided."""
        if not self._began_ns or self.agent.stopping:
            return
        while self.client.flush(ASK_S) and not self.agent.stopping:
            pass
        self.agent.sync(self.name, COMMITTING)
        try:
            trouble = self._retry(self.client.commit_transaction)
            if trouble:
                self._abort(trouble)
            else:
                self._close(Outcome.WRITTEN, "")
        except TransactionFailed as failure:
            self._close(Outcome.UNKNOWN, f"undecided: {failure}")
            raise SystemExit(f"the transaction of {self.name} failed: {failure}") from None

    def _abort(self, trouble: str) -> None:
        """Only an abort that the coordinator confirms is one: the commit may have reached it."""
        unconfirmed = self._retry(self.client.abort_transaction)
        if unconfirmed:
            self._close(Outcome.UNKNOWN, f"undecided: {trouble}; {unconfirmed}")
        else:
            self._close(Outcome.ABORTED, f"aborted: {trouble}")

    def give_up(self) -> None:
        """Note the records of the open transaction as undecided."""
        super().give_up()
        self._close(Outcome.UNKNOWN, UNDECIDED)

    def _retry(self, ask: Any) -> str:
        """Retry until it succeeds. Returns why the transaction must be aborted, or ""."""
        while not self.agent.stopping:
            try:
                ask(ASK_S)
                return ""
            except KafkaException as trouble:
                error: KafkaError = trouble.args[0]
                if error.txn_requires_abort():
                    return error.str()
                if not error.retriable():
                    raise TransactionFailed(error.str()) from trouble
        return "the run stopped"

    def _on_delivery(self, sequence: int, error: KafkaError | None, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        self._reports[sequence] = Report(
            partition=NO_PLACE if partition is None else partition,
            offset=NO_PLACE if offset is None else offset,  # A record that failed has none.
            error=why(error) if error else "",
        )

    def _close(self, outcome: Outcome, trouble: str) -> None:
        """Note all records of the transaction, as acknowledged now if it was committed."""
        if not self._began_ns:
            return
        at_ns = now_ns()
        written = []
        for sequence, taken in self._taken.items():
            report = self._reports.get(sequence, Report(NO_PLACE, NO_PLACE, UNDECIDED))
            if trouble or report.error:
                self._note_lost(taken, report, outcome, trouble)
            else:
                _, topic, due, sent, key = taken
                written.append((sequence, topic, report.partition, report.offset, due, sent, key))
        if written:
            self._ledger.acked(
                self._number,
                Acked(*np.array(written, np.int64).T),
                at_ns=at_ns,
                outcome=outcome,
                transaction=self._transaction,
            )
            self._acked += len(written)
        ended = Ended(self._transaction, self._began_ns, at_ns, outcome, trouble)
        self._ledger.ended(self._number, ended)
        self._taken, self._reports, self._began_ns = {}, {}, 0

    def _note_lost(self, taken: Taken, report: Report, outcome: Outcome, trouble: str) -> None:
        """Note a record that failed, or whose transaction did."""
        self.failed += 1
        self._ledger.lost(
            self._number,
            taken.sequence,
            taken.topic,
            due=taken.due,
            sent=taken.sent,
            key=taken.key,
            why=report.error or trouble,
            # A committed transaction holds no failed record, as far as the client says.
            outcome=Outcome.UNKNOWN if outcome == Outcome.WRITTEN else outcome,
            position=None if report.error else (report.partition, report.offset),
            transaction=self._transaction,
        )
