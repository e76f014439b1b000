"""Senders with a client of confluent-kafka; the one without a ledger is here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from streambed.agents.producer.sender import UNDECIDED, RecordSender, SenderSetup

ASK_S = 1.0
STOP_S = 2.0
FAILURES_ONLY = "delivery.report.only.error"
QUIET = {"log_level": "4"}


class ClientSender(RecordSender):
    """Base of senders with a client of confluent-kafka, which reports records one by one."""

    def __init__(self, setup: SenderSetup, settings: Mapping[str, Any]) -> None:
        super().__init__(setup)
        self.client = Producer({**setup.client, **settings, **QUIET}, logger=None)

    def poll(self, wait_s: float) -> None:
        """Serve the client's callbacks."""
        self.client.poll(wait_s)

    def prepare(self) -> None:
        """Wait until the client knows the partitions of all topics."""
        while not self.agent.stopping and not self._knows(self.source.topics):
            pass

    def _knows(self, topics: Sequence[str]) -> bool:
        """For several topics, ask once for all of the cluster: hundreds of requests take long."""
        only = {"topic": topics[0]} if len(topics) == 1 else {}
        try:
            known = self.client.list_topics(timeout=ASK_S, **only).topics
        except KafkaException:
            return False
        return all(topic in known and known[topic].partitions for topic in topics)

    def give_up(self) -> None:
        """Wait a little, then purge what the client still holds; its callbacks report it."""
        self.client.flush(STOP_S)
        self.client.purge()
        self.client.flush(STOP_S)


class UncountedSender(ClientSender):
    """A sender without a ledger; its client reports only failures, because reports cost time."""

    def __init__(self, setup: SenderSetup) -> None:
        super().__init__(setup, {FAILURES_ONLY: True, "on_delivery": self._on_failure})

    @property
    def open(self) -> int:
        """How many records the client holds."""
        return len(self.client)

    @property
    def acked(self) -> int:
        """Records that neither failed nor are open."""
        return self.sent - self.failed - self.open

    def send(self, sequence: int, due: int) -> None:
        """Hand one record to the client."""
        key, value, headers = self.source.record_of(sequence)
        if headers:
            self.client.produce(self.source.topic_of(sequence), value, key, headers=headers)
        else:
            self.client.produce(self.source.topic_of(sequence), value, key)
        self.sent += 1

    def _on_failure(self, error: KafkaError | None, message: Message) -> None:
        self.failed += error is not None


def why(error: KafkaError) -> str:
    """The ledger's reason for a failed record."""
    dropped = error.code() in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
    return UNDECIDED if dropped else str(error)
