"""Sender in transactions, with a ledger: records count when their transaction is committed, and not
before.
"""

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
    """One producer that notes what became of every record, transaction by transaction."""

    def __init__(self, setup: SenderSetup, rows: SentRows) -> None:
        super().__init__(setup, {"transactional.id": setup.name})
        self._ledger = rows
        self._number = rows.number(self.name)
        self._topics = {topic: rows.number(topic) for topic in self.source.topics}
        self._records = setup.transaction
        self._begun = False
        self._count = 0
        """How many records the transaction has that is under way."""
        self._taken: list[tuple[Any, ...]] = []

    def prepare(self) -> None:
        """Also make itself known to its coordinator, which ends what a former life of it left
        open.
        """
        super().prepare()
        self._insist(self.client.init_transactions)

    def send(self, sequence: int, due: int) -> None:
        """Hand over one record of a transaction; the last one commits it."""
        if not self._begun:
            self.client.begin_transaction()
            self._begun = True
        topic = self.source.topic_of(sequence)
        key, value, headers = self.source.record_of(sequence)
        told = partial(self._decided, sequence, self._topics[topic], due, now_ns())
        identity = (IDENTITY, identity_text(self.name, sequence))
        self.client.produce(topic, value, key, on_delivery=told, headers=[*headers, identity])
        self.sent += 1
        self._count += 1
        if self._count == self._records:
            self.settle()

    def settle(self) -> None:
        """Commit what is under way; what cannot be committed is aborted. Told to stop, leave it
        undecided.
        """
        if not self._begun or self.agent.stopping:
            return
        while self.client.flush(ASK_S) and not self.agent.stopping:
            pass
        trouble = self._insist(self.client.commit_transaction)
        if trouble:
            self._insist(self.client.abort_transaction)
        self._close(f"aborted: {trouble}" if trouble else "")

    def give_up(self) -> None:
        """Abort what is under way."""
        super().give_up()
        self._close(UNDECIDED)

    def _insist(self, ask: Any) -> str:
        """Ask until it is answered; why the transaction must be aborted, if it must."""
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

    def _decided(
        self,
        sequence: int,
        topic: int,
        due: int,
        sent: int,
        error: KafkaError | None,
        message: Message,
    ) -> None:
        self._taken.append(
            (
                sequence,
                topic,
                message.partition(),
                message.offset(),
                due,
                sent,
                why(error) if error else "",
            )
        )

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
