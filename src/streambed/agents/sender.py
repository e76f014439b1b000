"""Senders: one producer each, with a client of its own. This one keeps no ledger; those that do are beside it."""

from __future__ import annotations

from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from streambed.agents.agent import Agent
from streambed.agents.due_times import Due
from streambed.agents.record_source import Source

IDENTITY = "sb"
"""The header that carries producer/sequence."""
ASK_S = 1.0
STOP_S = 2.0
FAILURES_ONLY = "delivery.report.only.error"
QUIET = {"log_level": "4"}
UNDECIDED = "undecided when the run stopped"


class Sender(Protocol):
    """One producer."""

    name: str
    sent: int
    failed: int

    @property
    def open(self) -> int:
        """How many records are under way."""

    @property
    def acked(self) -> int:
        """How many records Kafka took."""

    def send_all(self, due: Due) -> int:
        """Hand records that are due to the client; how many it took by now."""

    def poll(self, wait_s: float) -> None:
        """Learn what became of records; wait so long for the first news."""

    def know_the_topics(self) -> None:
        """Wait until the client knows the topics' partitions, so that the first record does not pay for it."""

    def settle(self) -> None:
        """The last record has been handed over."""

    def give_up(self) -> None:
        """Wait a little for the last answers; the rest of the records are noted as undecided."""


class ClientSender:
    """What senders with a client of confluent-kafka share: they hear of their records one by one."""

    def __init__(self, name: str, agent: Agent, source: Source, client: dict[str, Any]) -> None:
        self.name = name
        self.agent = agent
        self.source = source
        self.client = Producer({**client, **QUIET}, logger=None)
        self.sent = self.failed = 0

    def send_all(self, due: Due) -> int:
        """As of a sender."""
        for taken, (sequence, time) in enumerate(zip(due.sequences, due.times, strict=True)):
            if self.agent.stopping:
                return taken
            try:
                self.send(sequence, time)
            except BufferError:
                return taken
        return len(due.times)

    def send(self, sequence: int, due: int) -> None:
        """Hand one record to the client; BufferError if it takes no more now."""
        raise NotImplementedError

    def poll(self, wait_s: float) -> None:
        """As of a sender."""
        self.client.poll(wait_s)

    def know_the_topics(self) -> None:
        """As of a sender."""
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
        """As of a sender."""

    def give_up(self) -> None:
        """As of a sender."""
        self.client.flush(STOP_S)
        self.client.purge()
        self.client.flush(STOP_S)


class UncountedSender(ClientSender):
    """A sender without a ledger, whose client speaks only of failures, because each word costs time."""

    def __init__(self, name: str, agent: Agent, source: Source, client: dict[str, Any]) -> None:
        super().__init__(name, agent, source, {**client, FAILURES_ONLY: True, "on_delivery": self._failed})

    @property
    def open(self) -> int:
        """As of a sender."""
        return len(self.client)

    @property
    def acked(self) -> int:
        """As of a sender."""
        return self.sent - self.failed - self.open

    def send(self, sequence: int, due: int) -> None:
        """Hand one record to the client."""
        key, value, headers = self.source.record_of(sequence)
        if headers:
            self.client.produce(self.source.topic_of(sequence), value, key, headers=headers)
        else:
            self.client.produce(self.source.topic_of(sequence), value, key)
        self.sent += 1

    def _failed(self, error: KafkaError | None, message: Message) -> None:
        self.failed += error is not None


def why(error: KafkaError) -> str:
    """What the ledger says of a record that failed."""
    dropped = error.code() in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
    return UNDECIDED if dropped else str(error)
