"""What became of a record, from what its client says of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from confluent_kafka import KafkaError

from streambed.agents.kafka import librdkafka
from streambed.record.ledger.schemas import Outcome

Acks = Literal["all", "leader", "none"]
DOUBTFUL = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._PURGE_QUEUE,
        KafkaError._PURGE_INFLIGHT,
    }
)
"""Errors after which a record may be in the log although its status says that it is not.

A deposed leader answers NOT_LEADER_OR_FOLLOWER also for records that it wrote and that its
follower has (KAFKA-13574). The client takes that for "not written" and puts the record back into
its queue, where it may time out or be purged.
"""


def acks_of(client: Mapping[str, str]) -> Acks:
    """Whose acknowledgement a client waits for."""
    acks = str(client.get("acks", client.get("request.required.acks", "all")))
    named: dict[str, Acks] = {"0": "none", "1": "leader"}
    return named.get(acks, "all")


def outcome_of_acked(acks: Acks) -> Outcome:
    """The outcome of a record that the client reports as delivered."""
    return Outcome.UNKNOWN if acks == "none" else Outcome.WRITTEN


def outcome_of_failed(error: int, status: int, acks: Acks) -> Outcome:
    """The outcome of a record that the client reports as failed."""
    if status == librdkafka.PERSISTED and acks == "all":
        return Outcome.WRITTEN
    if status == librdkafka.NOT_PERSISTED and error not in DOUBTFUL and acks != "none":
        return Outcome.NOT_WRITTEN
    return Outcome.UNKNOWN
