"""Readers: what a broker's client must offer so that consumers and sinks can read with it.

A factory `module:name` takes a ReaderSetup and gives a Reader; the order names it, and the agent
imports it. Derive from Reader: a client without partitions and offsets needs no more than `join`,
`take` and `leave`, and sets `ready`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from streambed.agents.agent import Agent
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
    """Records that were read together: a list of ReadRecord, or something that makes them only if
    somebody looks.
    """

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[ReadRecord]: ...


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a reader has come. A broker without offsets knows nothing of that."""

    positions: Positions = field(default_factory=dict)
    lag: int = 0
    """Records that it has not read yet."""
    lag_s: float = 0.0
    """The age of the last record that it read, if there are more."""


@dataclass(frozen=True, kw_only=True)
class ReaderSetup:
    """What a factory is given to make a reader."""

    agent: Agent
    """`agent.stopping` is true once the agent was told to stop: wait for nothing then."""
    name: str
    group: str
    """Readers of one group share the records. Empty: read once what there is now, from the
    beginning to the end.
    """
    topics: tuple[str, ...]
    client: dict[str, str]
    """Settings of the client."""
    commit_on_flush: bool
    """Commit at once whenever `flushed` is called, not by the client's own schedule."""
    flush: Callable[[], None]
    """Call it before records that were not read yet go to another reader: it ends in `flushed`."""


class Reader(Protocol):
    """One client that reads topics. All calls come from one thread."""

    ready: bool = False
    """It receives what is sent from now on."""
    flush_ns: int = FLUSH_NS
    """How often the ledger must be flushed."""

    @property
    def ended(self) -> bool:
        """Without a group: whether it has read all that there was."""
        return False

    def join(self) -> None:
        """Begin to read: as a member of the group, or all that there is."""

    def take(self, wait_s: float, *, most: int) -> ReadRecords:
        """The records that have come, at most so many; wait for the first, but not for more."""

    def flushed(self) -> None:
        """All records that were taken so far are safe in the ledger: only now may they be
        acknowledged or committed.

        What is committed earlier, and not flushed when the process is killed, looks like a loss.
        """

    def progress(self) -> Progress:
        """How far it has come, with all records that were taken."""
        return Progress()

    def leave(self) -> None:
        """Leave the group and close the client. The ledger was flushed before."""


ReaderFactory = Callable[[ReaderSetup], Reader]
