"""Readers: what a broker's client must offer so that consumers and sinks can read with it.

A factory `module:name` takes a ReaderSetup and gives a Reader; the order names it, and the agent
imports it. Derive from Reader: a client without partitions and offsets needs no more than `join`,
`take` and `leave`, and sets `ready`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from streambed.agents.agent import Agent
from streambed.agents.tenures import Tenures
from streambed.record.gauges import Positions
from streambed.record.tables import FLUSH_NS


class ReadRecord(NamedTuple):
    """One record as it was read. Where the broker has no partitions or no offsets, they are -1."""

    topic: str
    partition: int = -1
    offset: int = -1
    identity: bytes | str | None = None
    """What the header IDENTITY holds; None if there is none."""
    timestamp_ms: int = -1
    """The broker's time for it, by the wall clock; -1 if it has none."""
    key: bytes | None = None
    value: bytes | None = None


class ReadRecords(Protocol):
    """Records that were read together: a list of ReadRecord, or a lazy sequence of them."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[ReadRecord]: ...


class ReadColumns(NamedTuple):
    """Records that were read together, one sequence for each field but the value."""

    topics: Sequence[str]
    partitions: Sequence[int]
    offsets: Sequence[int]
    identities: Sequence[bytes | str | None]
    timestamps_ms: Sequence[int]
    keys: Sequence[bytes | None]


class ColumnRecords:
    """Records of a client that can give them as columns too, which is faster."""

    def columns(self) -> ReadColumns:
        """All records as columns."""
        raise NotImplementedError


def columns_of(records: ReadRecords) -> ReadColumns:
    """Records as columns; there must be one at least."""
    if isinstance(records, ColumnRecords):
        return records.columns()
    topics, partitions, offsets, identities, times, keys, _ = zip(*records, strict=True)
    return ReadColumns(topics, partitions, offsets, identities, times, keys)


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a reader has come. A broker without offsets leaves the defaults."""

    positions: Positions = field(default_factory=dict)
    lag: int = 0
    """Records that it has not read yet."""
    lag_s: float = 0.0
    """The age of the last record that it read, if there are more."""


@dataclass(frozen=True, kw_only=True)
class ReaderSetup:
    """What a factory gets to make a reader."""

    agent: Agent
    """Once `agent.stopping` is true, wait for nothing."""
    name: str
    group: str
    """Readers of one group share the records. Empty: read everything there is now, once."""
    topics: tuple[str, ...]
    client: dict[str, str]
    """Settings of the client."""
    commit_on_flush: bool
    """Commit whenever `flushed` is called, not by the client's schedule."""
    flush: Callable[[], None]
    """Call it before partitions go to another reader: it calls `flushed` at its end."""
    tenures: Tenures
    """Tell it which partitions the client holds, and what it committed, if the broker has any."""


class Reader(Protocol):
    """One client that reads topics. All calls come from one thread."""

    ready: bool = False
    """Whether it receives what is sent from now on."""
    flush_ns: int = FLUSH_NS
    """How often the ledger must be flushed."""

    @property
    def ended(self) -> bool:
        """Without a group: whether it has read all that there was."""
        return False

    def join(self) -> None:
        """Start to read: as a member of the group, or everything there is."""

    def take(self, wait_s: float, *, most: int) -> ReadRecords:
        """At most `most` records that have arrived; wait for the first, but not for more."""

    def flushed(self) -> None:
        """All records taken so far are in the ledger: only now may they be committed.

        A record that is committed but not flushed when the process is killed looks lost.
        """

    def progress(self) -> Progress:
        """How far it has come, including all records taken."""
        return Progress()

    def leave(self) -> None:
        """Leave the group and close the client. The ledger was flushed before."""


ReaderFactory = Callable[[ReaderSetup], Reader]
