"""Kafka's clients for producers, consumers and sinks: what agents import, what users may set."""

from __future__ import annotations

from collections.abc import Mapping

from streambed.errors import Problem
from streambed.kinds.declaring import Setting, setting_text

SENDER = "streambed.agents.producer.kafka_senders:make_sender"
"""The factory of Kafka's senders, for producers."""
READER = "streambed.agents.kafka.reader:KafkaReader"
"""The factory of Kafka's readers, for consumers, sinks and the witness."""
OFFSET_STORE = "enable.auto.offset.store"


def client_settings(bootstrap: str, settings: Mapping[str, Setting]) -> dict[str, str]:
    """The librdkafka configuration of a client; `settings` win over the bootstrap servers."""
    texts = {key: setting_text(setting) for key, setting in settings.items()}
    return {"bootstrap.servers": bootstrap, **texts}


def offset_store_problems(settings: Mapping[str, Setting]) -> list[Problem]:
    """A problem if a reader's settings change when offsets are stored."""
    if OFFSET_STORE not in settings:
        return []
    says = (
        f"{OFFSET_STORE} cannot be set: offsets are stored once their records are in the ledger. "
        "Otherwise a reader that is killed would seem to have lost records. "
        "Leave it out; use enable.auto.commit: false for no commits at all"
    )
    return [Problem(key="settings", says=says)]
