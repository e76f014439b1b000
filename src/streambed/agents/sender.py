"""Senders: one producer each, with a client of its own; without a ledger, with one, or in transactions."""

from __future__ import annotations

from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from streambed.agents.agent import Agent
from streambed.agents.record_source import Source
from streambed.agents.sent_rows import SentRows, pack
from streambed.record import now_ns

IDENTITY = "sb"
"""The header that carries producer/sequence."""
ASK_S = 1.0
STOP_S = 2.0
FAILURES_ONLY = "delivery.report.only.error"


class Sender:
    """One producer without a ledger: what it sent is counted, and what failed."""

    def __init__(self, name: str, agent: Agent, source: Source, client: dict[str, Any]) -> None:
        self.name = name
        self.agent = agent
        self.source = source
        self.client = Producer({**client, "log_level": 4}, logger=None)
        self.sent = self.failed = 0

    @property
    def open(self) -> int:
        """How many records are under way."""
        return len(self.client)

    @property
    def acked(self) -> int:
        """How many records Kafka took."""
        return self.sent - self.failed - self.open

    def send(self, sequence: int, due: int) -> None:
        """Hand one record to the client; BufferError if it takes no more now."""
        key, value, headers = self.source.record_of(sequence)
        if headers:
            self.client.produce(self.source.topic_of(sequence), value, key, headers=headers)
        else:
            self.client.produce(self.source.topic_of(sequence), value, key)
        self.sent += 1

    def know_the_topics(self) -> None:
        """Wait until the client knows the topics' partitions, so that the first record does not pay for it."""
        while not self.agent.stopping and not self._knows(self.source.topics):
            pass

    def _knows(self, topics: list[str]) -> bool:
        """Of several topics it asks in one question, about all that there are: hundreds of questions take their time."""
        only = {"topic": topics[0]} if len(topics) == 1 else {}
        try:
            known = self.client.list_topics(timeout=ASK_S, **only).topics
        except KafkaException:
            return False
        return all(topic in known and known[topic].partitions for topic in topics)

    def settle(self) -> None:
        """The last record has been handed over."""

    def give_up(self) -> None:
        """Wait a little for the last answers; the rest of the records are noted as undecided."""
        self.client.flush(STOP_S)
        self.client.purge()
        self.client.flush(STOP_S)


class UncountedSender(Sender):
    """A sender whose client speaks only of failures, because each word costs time."""

    def __init__(self, name: str, agent: Agent, source: Source, client: dict[str, Any]) -> None:
        super().__init__(name, agent, source, {**client, FAILURES_ONLY: True, "on_delivery": self._failed})

    def _failed(self, error: KafkaError | None, message: Message) -> None:
        self.failed += error is not None


class NotingSender(Sender):
    """A sender with a ledger: every record has a name, and a row once it is decided."""

    def __init__(self, name: str, agent: Agent, source: Source, client: dict[str, Any], rows: SentRows) -> None:
        super().__init__(name, agent, source, client)
        self._rows = rows
        self._packed = rows.packed
        self._number = rows.number(name)
        self._topics = {topic: rows.number(topic) for topic in source.topics}
        self._prefix = f"{name}/".encode()
        self._acked = 0

    @property
    def open(self) -> int:
        """How many records are under way."""
        return self.sent - self._acked - self.failed

    def send(self, sequence: int, due: int) -> None:
        """Hand one record to the client, with its name."""
        topic = self.source.topic_of(sequence)
        key, value, headers = self.source.record_of(sequence)
        identity = (IDENTITY, self._prefix + b"%d" % sequence)
        told = partial(self._decided, sequence, self._topics[topic], due, now_ns())
        # Arguments without names, because looking these up takes a tenth of the time: -1 is any partition, 0 the present time.
        self.client.produce(topic, value, key, -1, told, None, 0, [*headers, identity] if headers else [identity])
        self.sent += 1

    def _decided(self, sequence: int, topic: int, due: int, sent: int, error: KafkaError | None, message: Message) -> None:
        """Kafka acknowledged the record, or the client gave up."""
        if error is None:
            self._acked += 1
            self._packed += pack(self._number, sequence, topic, message.partition(), message.offset(), due, sent, now_ns())
        else:
            self.failed += 1
            self._rows.lost(self._number, sequence, topic, due, sent, _why(error))


class TransactionalSender(NotingSender):
    """A sender whose records count when their transaction is committed, and not before."""

    def __init__(self, name: str, agent: Agent, source: Source, client: dict[str, Any], rows: SentRows, *, records: int) -> None:
        super().__init__(name, agent, source, {**client, "transactional.id": name}, rows)
        self._records = records
        self._begun = False
        self._count = 0
        """How many records the transaction has that is under way."""
        self._taken: list[tuple[Any, ...]] = []

    def know_the_topics(self) -> None:
        """Also make itself known to its coordinator, which ends what a former life of it left open."""
        super().know_the_topics()
        self._insist(self.client.init_transactions)

    def send(self, sequence: int, due: int) -> None:
        """Hand over one record of a transaction; the last one commits it."""
        if not self._begun:
            self.client.begin_transaction()
            self._begun = True
        super().send(sequence, due)
        self._count += 1
        if self._count == self._records:
            self.settle()

    def settle(self) -> None:
        """Commit what is under way; what cannot be committed is aborted. Told to stop, leave it undecided."""
        if not self._begun or self.agent.stopping:
            return
        while self.client.flush(ASK_S) and not self.agent.stopping:
            pass
        why = self._insist(self.client.commit_transaction)
        if why:
            self._insist(self.client.abort_transaction)
        self._close(f"aborted: {why}" if why else "")

    def give_up(self) -> None:
        """Abort what is under way."""
        super().give_up()
        self._close("undecided when the run stopped")

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
                    raise SystemExit(f"the transaction of {self.name} cannot go on: {error.str()}") from trouble
        return "the run stopped"

    def _decided(self, sequence: int, topic: int, due: int, sent: int, error: KafkaError | None, message: Message) -> None:
        self._taken.append((sequence, topic, message.partition(), message.offset(), due, sent, _why(error) if error else ""))

    def _close(self, why: str) -> None:
        """Note all records of the transaction, as acknowledged now if it was committed."""
        now = now_ns()
        for sequence, topic, partition, offset, due, sent, error in self._taken:
            if error or why:
                self.failed += 1
                self._rows.lost(self._number, sequence, topic, due, sent, error or why)
            else:
                self._acked += 1
                self._packed += pack(self._number, sequence, topic, partition, offset, due, sent, now)
        self._taken, self._begun, self._count = [], False, 0


def sender_of(name: str, agent: Agent, source: Source, order: dict[str, Any], rows: SentRows | None) -> Sender:
    """The sender that an order asks for."""
    if rows is None:
        return UncountedSender(name, agent, source, order["client"])
    if order["transaction"]:
        return TransactionalSender(name, agent, source, order["client"], rows, records=order["transaction"])
    return NotingSender(name, agent, source, order["client"], rows)


def _why(error: KafkaError) -> str:
    dropped = error.code() in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
    return "undecided when the run stopped" if dropped else str(error)
