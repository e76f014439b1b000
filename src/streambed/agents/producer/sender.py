"""Senders: what a broker's client must offer so that producers can send with it.

A factory `module:name` takes a SenderSetup and gives a Sender; the order names it, and the agent
imports it. A client that hands over one record at a time derives from RecordSender.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from streambed.agents.agent import Agent
from streambed.agents.producer.due_times import Due
from streambed.agents.producer.record_source import Source
from streambed.agents.producer.sent_rows import SentRows

UNDECIDED = "undecided when the run stopped"
"""What the ledger says of a record without an answer."""


@dataclass(frozen=True, kw_only=True)
class SenderSetup:
    """What a factory is given to make a sender."""

    agent: Agent
    """`agent.stopping` is true once the agent was told to stop: wait for nothing then."""
    name: str
    """The producer's name in the ledger."""
    source: Source
    """Makes the n-th record, and knows its topic."""
    client: dict[str, str]
    """Settings of the client."""
    rows: SentRows | None
    """The ledger; None: keep none, and leave out the identity header."""
    transaction: int = 0
    """Records in each transaction; 0: no transactions."""


class Sender(Protocol):
    """One producer. Each record that is handed over is decided once: acknowledged or failed, and
    noted so in the ledger.

    With a ledger a record carries a header IDENTITY with `identity_text(name, sequence)`, so that
    readers know it again.
    """

    name: str
    sent: int
    """How many records the client took."""
    failed: int
    """How many of them failed."""

    @property
    def acked(self) -> int:
        """How many of them the broker acknowledged."""

    @property
    def open(self) -> int:
        """How many of them are not decided yet."""

    def prepare(self) -> None:
        """Connect and learn of the topics, so that the first record does not pay for it."""

    def send_all(self, due: Due) -> int:
        """Hand records that are due to the client; how many it took before it was full."""

    def poll(self, wait_s: float) -> None:
        """Learn what became of records; wait for the first news at most so long."""

    def settle(self) -> None:
        """The last record was handed over."""

    def give_up(self) -> None:
        """Wait a little for the last answers; note the other records as UNDECIDED."""


SenderFactory = Callable[[SenderSetup], Sender]


class RecordSender:
    """Base of senders that hand over one record at a time. Implement `send`; call `note_acked` or
    `note_failed` for each record.
    """

    def __init__(self, setup: SenderSetup) -> None:
        self.name = setup.name
        self.agent = setup.agent
        self.source = setup.source
        self.sent = self.failed = 0
        self._acked = 0
        self._rows = setup.rows

    @property
    def acked(self) -> int:
        """How many records the broker acknowledged."""
        return self._acked

    @property
    def open(self) -> int:
        """How many records are not decided yet."""
        return self.sent - self.acked - self.failed

    def prepare(self) -> None:
        """Nothing, unless the client needs it."""

    def send_all(self, due: Due) -> int:
        """One after the other."""
        for taken, (sequence, time) in enumerate(zip(due.sequences, due.times, strict=True)):
            if self.agent.stopping:
                return taken
            try:
                self.send(sequence, time)
            except BufferError:
                return taken
        return len(due.times)

    def send(self, sequence: int, due: int) -> None:
        """Hand one record to the client and count it in `sent`; BufferError if the client takes no
        more now.
        """
        raise NotImplementedError

    def note_acked(
        self, sequence: int, *, due: int, sent: int, partition: int = -1, offset: int = -1
    ) -> None:
        """The broker acknowledged a record just now; a broker without partitions or offsets leaves
        them out.
        """
        self._acked += 1
        if self._rows:
            topic = self.source.topic_of(sequence)
            self._rows.acked_one(
                self.name, sequence, topic, partition=partition, offset=offset, due=due, sent=sent
            )

    def note_failed(self, sequence: int, *, due: int, sent: int, why: str) -> None:
        """A record was given up."""
        self.failed += 1
        if self._rows:
            self._rows.lost_one(
                self.name, sequence, self.source.topic_of(sequence), due=due, sent=sent, why=why
            )

    def poll(self, wait_s: float) -> None:
        """Nothing, if each record is decided before `send` returns."""

    def settle(self) -> None:
        """Nothing, unless records are held back until now."""

    def give_up(self) -> None:
        """Nothing, if each record is decided before `send` returns."""
