"""Transactional sender with a ledger: records count once their transaction is committed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException, Message

from streambed.agents.producer.client_sender import ASK_S, ClientSender, why
from streambed.agents.producer.sender import UNDECIDED, SenderSetup
from streambed.agents.producer.sent_rows import Acked, SentRows
from streambed.agents.record_identity import IDENTITY, identity_text
from streambed.record import now_ns


class TransactionalSender(ClientSender):
    """One producer that writes the fate of records to the ledger, transaction by transaction."""

    def __init__(self, setup: SenderSetup, rows: SentRows) -> None:
        super().__init__(setup, {"transactional.id": setup.name})
        self._ledger = rows
        self._number = rows.number(self.name)
        self._topics = {topic: rows.number(topic) for topic in self.source.topics}
        self._records = setup.transaction
        self._begun = False
        self._count = 0
        """Records in the open transaction."""
        self._taken: list[tuple[Any, ...]] = []

    def prepare(self) -> None:
        """Also register with the coordinator, which aborts what an earlier process left open."""
        super().prepare()
        self._retry(self.client.init_transactions)

    def send(self, sequence: int, due: int) -> None:
        """Hand over one record; the last of a transaction commits it."""
        if not self._begun:
            self.client.begin_transaction()
            self._begun = True
        topic = self.source.topic_of(sequence)
        key, value, headers = self.source.record_of(sequence)
        on_delivery = partial(self._on_delivery, sequence, self._topics[topic], due, now_ns())
        identity = (IDENTITY, identity_text(self.name, sequence))
        self.client.produce(
            topic, value, key, on_delivery=on_delivery, headers=[*headers, identity]
        )
        self.sent += 1
        self._count += 1
        if self._count == self._records:
            self.settle()

    def settle(self) -> None:
        """Commit the open transaction, or abort it; once stopped, leave it undecided."""
        if not self._begun or self.agent.stopping:
            return
        while self.client.flush(ASK_S) and not self.agent.stopping:
            pass
        trouble = self._retry(self.client.commit_transaction)
        if trouble:
            self._retry(self.client.abort_transaction)
        self._close(f"aborted: {trouble}" if trouble else "")

    def give_up(self) -> None:
        """Note the records of the open transaction as undecided."""
        super().give_up()
        self._close(UNDECIDED)

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
                    raise SystemExit(
                        f"the transaction of {self.name} cannot go on: {error.str()}"
                    ) from trouble
        return "the run stopped"

    def _on_delivery(
        self,
        sequence: int,
        topic: int,
        due: int,
        sent: int,
        error: KafkaError | None,
        message: Message,
    ) -> None:
        reason = why(error) if error else ""
        position = message.partition(), message.offset()
        self._taken.append((sequence, topic, *position, due, sent, reason))

    def _close(self, trouble: str) -> None:
        """Note all records of the transaction, as acknowledged now if it was committed."""
        at_ns = now_ns()
        taken = [record for *record, error in self._taken if not (error or trouble)]
        if taken:
            self._ledger.acked(self._number, Acked(*np.array(taken, np.int64).T), at_ns=at_ns)
            self._acked += len(taken)
        for sequence, topic, _, _, due, sent, error in self._taken:
            if error or trouble:
                self.failed += 1
                self._ledger.lost(self._number, sequence, topic, due, sent, error or trouble)
        self._taken, self._begun, self._count = [], False, 0
