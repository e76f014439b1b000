"""What a reader notes besides records: which partitions it held from when to when, and commits."""

from __future__ import annotations

from streambed.agents.agent import Agent
from streambed.record import now_ns
from streambed.record.ledger.schemas import ASSIGNMENTS, COMMITS
from streambed.record.orders import ConsumerMember
from streambed.record.tables import Table

Part = tuple[str, int]
"""A topic and a partition."""


class Tenures:
    """The tenures of one reader. A client of a broker without partitions has none."""

    def __init__(self, agent: Agent, member: ConsumerMember, *, ledger: bool) -> None:
        self._names = member.name, member.group, agent.incarnation
        self._assignments: Table | None = None
        self._commits: Table | None = None
        if ledger:
            self._assignments = agent.table("assignments", ASSIGNMENTS, of=member.name)
            self._commits = agent.table("commits", COMMITS, of=member.name)
        self._count = 0
        self._held: dict[Part, int] = {}

    def number(self, part: Part) -> int | None:
        """The number of the tenure under which a partition is held; None if it is not."""
        return self._held.get(part)

    def begin(self, part: Part, offset: int, origin: str) -> None:
        """A partition was assigned; reading starts at `offset`, which is from `origin`."""
        self._count += 1
        self._held[part] = self._count
        self._note(part, "assigned", offset, origin)

    def reset(self, part: Part, offset: int, origin: str) -> None:
        """The client jumped to `offset`, because its position was not in the log."""
        if part in self._held:
            self._note(part, "reset", offset, origin)

    def end(self, part: Part, change: str, offset: int) -> None:
        """A partition was revoked, lost or closed at the position `offset`."""
        if part in self._held:
            self._note(part, change, offset, None)
            del self._held[part]

    def end_all(self, change: str, positions: dict[Part, int]) -> None:
        """End the tenures that are left."""
        for part in tuple(self._held):
            self.end(part, change, positions.get(part, -1))

    def committed(self, part: Part, offset: int, error: str | None) -> None:
        """The broker answered a commit."""
        if self._commits:
            name, group, life = self._names
            topic, partition = part
            self._commits.append(name, group, life, topic, partition, offset, now_ns(), error)

    def flush(self) -> None:
        """Hand over the commits to the kernel; assignments were, when they were noted."""
        if self._commits:
            self._commits.flush()

    def close(self) -> None:
        """Close the files, after the reader has left its group."""
        for table in (self._assignments, self._commits):
            if table:
                table.close()

    def _note(self, part: Part, change: str, offset: int, origin: str | None) -> None:
        if self._assignments:
            name, group, life = self._names
            topic, partition = part
            place = self._held[part], topic, partition
            self._assignments.append(name, group, life, *place, now_ns(), change, offset, origin)
            # They are few, and explain rows that come later: a killed process must leave them.
            self._assignments.flush()
