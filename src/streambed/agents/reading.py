"""One consumer: its reader, and what it has seen in the ledger."""

from __future__ import annotations

from streambed.agents.agent import Agent
from streambed.agents.reader import Progress, ReaderFactory, ReaderSetup, ReadRecords
from streambed.agents.record_identity import parse_identity
from streambed.record import now_ns
from streambed.record.gauges import ReaderGauge
from streambed.record.orders import ConsumerMember, ConsumerOrder, SinkOrder
from streambed.record.tables import KEPT, SEEN, Table

BATCH = 10_000


class Reading:
    """Takes records, writes them to the ledger, and flushes it before the reader commits them."""

    def __init__(
        self,
        agent: Agent,
        member: ConsumerMember,
        order: ConsumerOrder | SinkOrder,
        make: ReaderFactory,
        *,
        ledger: bool = True,
        keep: bool = False,
        commit_on_flush: bool = False,
    ) -> None:
        self.agent = agent
        self.member = member
        self.table = agent.table("seen", SEEN, of=member.name) if ledger else None
        self.kept = agent.table("kept", KEPT, of=member.name) if keep else None
        self.seen = 0
        self.unnoted = False
        """Whether some taken records are not in the ledger yet: they must not be committed."""
        self._progress = Progress()
        self._flushed_ns = now_ns()
        self.reader = make(
            ReaderSetup(
                agent=agent,
                name=member.name,
                group=member.group,
                topics=order.topics,
                client={**order.client, **member.client},
                commit_on_flush=commit_on_flush,
                flush=self.flush,
            )
        )

    def take(self, wait_s: float) -> None:
        """Read what has arrived, wait up to `wait_s` for the first record, and note it."""
        self.note(self.reader.take(wait_s, most=BATCH))

    def note(self, records: ReadRecords) -> None:
        """Write a row for each record to the ledger."""
        if self.table:
            self._note_seen(self.table, records)
        if self.kept:
            self._note_kept(self.kept, records)
        self.seen += len(records)
        self.unnoted = False

    def _note_seen(self, table: Table, records: ReadRecords) -> None:
        seen_ns, name, group = now_ns(), self.member.name, self.member.group
        rows = [
            (name, group, topic, partition, offset, *parse_identity(identity), seen_ns, stamp_ms)
            for topic, partition, offset, identity, stamp_ms, _, _ in records
        ]
        table.extend(rows)

    def _note_kept(self, table: Table, records: ReadRecords) -> None:
        name = self.member.name
        table.extend(
            (name, record.topic, record.partition, record.offset, record.key, record.value)
            for record in records
        )

    def tables(self) -> list[Table]:
        """Its open files in the history."""
        return [table for table in (self.table, self.kept) if table]

    def flush_if_due(self) -> None:
        """Flush if the last flush is older than the reader's `flush_ns`."""
        if now_ns() - self._flushed_ns >= self.reader.flush_ns:
            self.flush()

    def flush(self) -> None:
        """Write the rows, and only then let the reader commit what they cover."""
        self._flushed_ns = now_ns()
        for table in self.tables():
            table.flush()
        if not self.unnoted:
            self.reader.flushed()

    def gauge(self) -> ReaderGauge:
        """The number of records in the ledger, and the reader's progress up to them."""
        if not self.unnoted:
            self._progress = self.reader.progress()
        progress = self._progress
        return ReaderGauge(
            ready=self.reader.ready,
            seen=self.seen,
            lag=progress.lag,
            lag_s=progress.lag_s,
            positions=progress.positions,
        )

    def finish(self) -> None:
        """Flush and close the ledger; the reader is still a member of its group."""
        self.flush()
        for table in self.tables():
            table.close()
