"""What the judge found of one anomaly, and what it is judged from besides the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from streambed.judge.columns import NONE, Int32s, Int64s

SHOWN = 10
"""How many offenders get evidence; all are counted."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The smallest proof of one offender: a record or two, where, and when."""

    text: str
    """What is wrong: {record}, {place}, {other} and {other_place} are placeholders."""
    record: int = NONE
    place: int = NONE
    other: int = NONE
    other_place: int = NONE
    group: str = ""
    start: int = NONE
    """It happened between these two times; NONE if they are unknown."""
    end: int = NONE


@dataclass(frozen=True, kw_only=True)
class Finding:
    """How often an anomaly was found."""

    anomaly: str
    count: int = 0
    records: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    """The offending records; empty if the anomaly is not about single records."""
    evidence: tuple[Evidence, ...] = ()
    undecided: int = 0
    """How many may or may not be offenders."""
    allowed: int = 0
    """How many were not counted because Kafka's contract allows them."""
    missing: str = ""
    """Data that should be there and is not: without offenders, the answer is unknown."""
    not_judged: str = ""
    """Why it does not apply, or what is needed to judge it. It changes no answer."""
    why_undecided: str = ""


@dataclass(frozen=True, kw_only=True)
class ReplicaBatches:
    """The batches in all brokers' segment files of a topic, one row per broker and batch."""

    broker: Int32s
    partition: Int64s
    first_offset: Int64s
    last_offset: Int64s
    leader_epoch: Int64s
    checksum: Int64s


@dataclass(frozen=True, kw_only=True)
class PartitionEnd:
    """A partition after the drain."""

    partition: int
    start: int | None = None
    """The first offset of its log."""
    end: int | None = None
    """The high watermark."""
    stable: int | None = None
    """The last stable offset: readers of committed records get no further."""


@dataclass(frozen=True, kw_only=True)
class OpenTransaction:
    """A transaction that the coordinator's log shows as open at the end of the run."""

    partition: int
    live: bool
    """Whether its producer was alive."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known about a topic besides the ledger."""

    ends: Mapping[int, PartitionEnd] = field(default_factory=dict)
    compacted: bool = False
    compacted_topics: frozenset[str] = frozenset()
    """All topics that are compacted, this one and others."""
    uncommitted_groups: frozenset[str] = frozenset()
    """Groups that also read uncommitted records."""
    unknown_isolation_groups: frozenset[str] = frozenset()
    """Groups that may read uncommitted records, or not: it is unknown."""
    groups: frozenset[str] = frozenset()
    """Groups that were declared to read the topic, whether or not they read anything."""
    latest_groups: frozenset[str] = frozenset()
    """Groups that begin with the latest record if they have committed nothing."""
    unread: Mapping[str, frozenset[int] | None] = field(default_factory=dict)
    """Partitions that a group may not have read to their end; None: all."""
    unfinished_producers: frozenset[str] = frozenset()
    """Producers whose last process was killed, so that written records may have no row."""
    anonymous_producers: frozenset[str] = frozenset()
    """Producers whose records may carry no identity."""
    read_back_failed: bool = False
    """The witness did not read everything."""
    behind_since: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """When a group that was behind at the end last read a partition that it still held."""
    existing: bool = False
    """The brokers belong to an existing cluster: their files and states are not read."""
    replicas: ReplicaBatches | None = None
    """None if the brokers' files were not read."""
    open_transactions: tuple[OpenTransaction, ...] | None = None
    """None if the brokers' files were not read."""
