"""Senders: what a broker's client must offer so that producers can send with it.

A factory `module:name` takes a SenderSetup and gives a Sender; the order names it, and the agent
imports it. A client that hands over one record at a time derives from RecordSender.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from streambed.agents.agent import Agent
from streambed.agents.producer.record_source import Source
from streambed.agents.producer.sent_rows import SentRows
from streambed.agents.producer.timetable import Due
from streambed.record.ledger.schemas import Outcome

UNDECIDED = "undecided when the run stopped"
"""The ledger's reason for a record without an acknowledgement."""


@dataclass(frozen=True, kw_only=True)
class SenderSetup:
    """What a factory gets to make a sender."""

    agent: Agent
    """Once `agent.stopping` is true, wait for nothing."""
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
    """One producer. Each record is decided once, acknowledged or failed, and noted in the ledger.

    With a ledger, records carry a header IDENTITY with `identity_text(name, sequence)`, by which
    readers recognise them.
    """

    name: str
    sent: int
    """Number of records that the client took."""
    failed: int
    """Number of them that failed."""

    @property
    def acked(self) -> int:
        """Number of them that the broker acknowledged."""

    @property
    def open(self) -> int:
        """Number of them that are not decided yet."""

    def prepare(self) -> None:
        """Connect and load the topics' metadata, so that the first record is not delayed."""

    def send_all(self, due: Due) -> int:
        """Hand due records to the client. Returns how many it took before it was full."""

    def poll(self, wait_s: float) -> None:
        """Process acknowledgements and failures; wait up to `wait_s` for the first."""

    def settle(self) -> None:
        """Called after the last record was handed over."""

    def give_up(self) -> None:
        """Wait a little for the last acknowledgements; note the other records as UNDECIDED."""


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
        """Number of records that the broker acknowledged."""
        return self._acked

    @property
    def open(self) -> int:
        """Number of records that are not decided yet."""
        return self.sent - self.acked - self.failed

    def prepare(self) -> None:
        """Override it if the client must connect first."""

    def send_all(self, due: Due) -> int:
        """Send records one by one until one is refused."""
        for taken, (sequence, time) in enumerate(zip(due.sequences, due.times, strict=True)):
            if self.agent.stopping:
                return taken
            try:
                self.send(sequence, time)
            except BufferError:
                return taken
        return len(due.times)

    def send(self, sequence: int, due: int) -> None:
        """Hand one record to the client and count it in `sent`; BufferError if it is full."""
        raise NotImplementedError

    def note_acked(
        self,
        sequence: int,
        *,
        due: int,
        sent: int,
        key: bytes | None = None,
        partition: int = -1,
        offset: int = -1,
        outcome: Outcome = Outcome.WRITTEN,
    ) -> None:
        """Note an acknowledgement, now. Leave out `key`, `partition` and `offset` if the broker has
        none. The outcome is UNKNOWN if the client's word is no answer of the broker.
        """
        self._acked += 1
        if self._rows:
            topic = self.source.topic_of(sequence)
            self._rows.acked_one(
                self.name,
                sequence,
                topic,
                due=due,
                sent=sent,
                key=key,
                partition=partition,
                offset=offset,
                outcome=outcome,
            )

    def note_failed(
        self,
        sequence: int,
        *,
        due: int,
        sent: int,
        why: str,
        key: bytes | None = None,
        outcome: Outcome = Outcome.UNKNOWN,
    ) -> None:
        """Note a failed record; the outcome is NOT_WRITTEN only if the broker surely lacks it."""
        self.failed += 1
        if self._rows:
            self._rows.lost_one(
                self.name,
                sequence,
                self.source.topic_of(sequence),
                due=due,
                sent=sent,
                why=why,
                key=key,
                outcome=outcome,
            )

    def poll(self, wait_s: float) -> None:
        """Override it unless each record is decided before `send` returns."""

    def settle(self) -> None:
        """Override it if the sender holds records back."""

    def give_up(self) -> None:
        """Override it unless each record is decided before `send` returns."""
