"""One consumer: its reader, and what it has seen in the ledger."""

from __future__ import annotations

from collections.abc import Sequence

from streambed.agents.agent import Agent
from streambed.agents.reader import (
    Progress,
    ReaderFactory,
    ReaderSetup,
    ReadRecords,
    columns_of,
)
from streambed.agents.seen_rows import SeenRows
from streambed.agents.tenures import Tenures
from streambed.record import now_ns
from streambed.record.gauges import ReaderGauge
from streambed.record.ledger.schemas import KEPT, SEEN
from streambed.record.orders import ConsumerMember, ConsumerOrder, SinkOrder
from streambed.record.tables import Table

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
        self.tenures = Tenures(agent, member, ledger=ledger)
        self.rows = self._open_rows() if ledger else None
        self.kept = agent.table("kept", KEPT, of=member.name) if keep else None
        self.seen = 0
        self._seen_ns = 0
        """When the last poll was noted: no two have the same time."""
        self.unnoted = False
        """Whether some taken records are not in the ledger yet: they must not be committed."""
        self._progress = Progress()
        self._flushed_ns = now_ns()
        self.reader = make(
            ReaderSetup(
                agent=agent,
                name=member.name,
                group=member.group,
                topics=member.topics or order.topics,
                client={**order.client, **member.client},
                commit_on_flush=commit_on_flush,
                flush=self.flush,
                tenures=self.tenures,
            )
        )

    def take(self, wait_s: float) -> None:
        """Read what has arrived, wait up to `wait_s` for the first record, and note it."""
        self.note(self.reader.take(wait_s, most=BATCH))

    def note(self, records: ReadRecords, tenures: Sequence[int | None] | None = None) -> None:
        """Write a row for each record to the ledger; `tenures` has the one each was read in, if
        another may have begun since.
        """
        if self.rows and len(records):
            self._seen_ns = max(now_ns(), self._seen_ns + 1)
            self.rows.add(columns_of(records), self._seen_ns, tenures)
        if self.kept:
            self._note_kept(self.kept, records)
        self.seen += len(records)
        self.unnoted = False

    def _note_kept(self, table: Table, records: ReadRecords) -> None:
        name = self.member.name
        table.extend(
            (name, record.topic, record.partition, record.offset, record.key, record.value)
            for record in records
        )

    def _open_rows(self) -> SeenRows:
        table = self.agent.table("seen", SEEN, of=self.member.name)
        life = self.agent.incarnation
        return SeenRows(table, self.member, life=life, tenures=self.tenures)

    def tables(self) -> list[SeenRows | Table]:
        """Its open files in the history."""
        return [table for table in (self.rows, self.kept) if table]

    def flush_if_due(self) -> None:
        """Flush if the last flush is older than the reader's `flush_ns`."""
        if now_ns() - self._flushed_ns >= self.reader.flush_ns:
            self.flush()

    def flush(self) -> None:
        """Write the rows, and only then let the reader commit what they cover."""
        self._flushed_ns = now_ns()
        for table in self.tables():
            table.flush()
        self.tenures.flush()
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

    def leave(self) -> None:
        """Leave the group; what the client commits and gives back then is noted as well."""
        self.reader.leave()
        self.tenures.close()
