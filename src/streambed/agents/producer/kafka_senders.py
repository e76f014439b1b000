"""Kafka's senders: which one an order asks for."""

from __future__ import annotations

from streambed.agents.producer.client_sender import UncountedSender
from streambed.agents.producer.ledger_sender import LedgerSender
from streambed.agents.producer.sender import Sender, SenderSetup
from streambed.agents.producer.transactional_sender import TransactionalSender


def make_sender(setup: SenderSetup) -> Sender:
    """A sender without a ledger, in transactions, or with a ledger at full rate."""
    if setup.rows is None:
        return UncountedSender(setup)
    if setup.transaction:
        return TransactionalSender(setup, setup.rows)
    return LedgerSender(setup.name, setup.agent, setup.source, setup.client, setup.rows)
