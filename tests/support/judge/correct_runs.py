"""Correct runs made up by seed: transactions, aborts, killed readers, hand-overs, a read-back."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl

from streambed.judge.findings import Facts, PartitionEnd, ReplicaBatches
from streambed.plan import WITNESS
from streambed.record.history import Ledger
from tests.support.judge.stories import ABORTED, TOPIC, UNKNOWN, WRITTEN, Story, story_of

PARTITIONS = 2
RECORDED = Path(__file__).parents[2] / "judge" / "recorded_run"
GROUPS = ("one", "two")


class _Run:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.story = Story().life("plain", 1, 0).life("careful", 1, 0)
        self.ends = [0] * PARTITIONS
        self.visible: list[list[tuple[str, str]]] = [[] for _ in range(PARTITIONS)]
        self.sequences = {"plain": 0, "careful": 0}

    def next_record(self, producer: str) -> tuple[str, int, str]:
        name = f"{producer}={self.sequences[producer]}"
        self.sequences[producer] += 1
        partition = self.random.randrange(PARTITIONS)
        at = f"{partition}/{self.ends[partition]}"
        self.ends[partition] += 1
        return name, partition, at

    def send_plain(self) -> None:
        if self.random.random() < 0.05:  # It timed out, and is not in the log.
            name = f"plain={self.sequences['plain']}"
            self.sequences["plain"] += 1
            self.story.send(name, None, outcome=UNKNOWN)
            return
        name, partition, at = self.next_record("plain")
        self.story.send(name, at)
        self.visible[partition].append((name, at))

    def send_transaction(self, number: int) -> None:
        outcome = self.random.choice([WRITTEN, WRITTEN, ABORTED])
        touched = set()
        for _ in range(self.random.randint(2, 5)):
            name, partition, at = self.next_record("careful")
            self.story.send(name, at, outcome=outcome, txn=number)
            touched.add(partition)
            if outcome == WRITTEN:
                self.visible[partition].append((name, at))
        for partition in touched:
            self.ends[partition] += 1  # The marker that ends a transaction takes an offset.
        self.story.transaction(number, outcome, of="careful")

    def read(self, group: str) -> None:
        """Three lives, each killed; the last one reads to the end."""
        committed: list[int | None] = [None] * PARTITIONS
        for life in range(1, 4):
            for partition in range(PARTITIONS):
                committed[partition] = self.hold(group, life, partition, committed[partition])

    def hold(self, group: str, life: int, partition: int, committed: int | None) -> int | None:
        """One tenure: read on from the last commit. Returns the last commit after it."""
        who: dict[str, Any] = {"by": group, "life": life}
        index = committed or 0
        origin = "earliest" if committed is None else "committed"
        start = f"{partition}/{self.offset(partition, index)}"
        self.story.assign(start, **who, tenure=partition + 1, origin=origin)
        rows = self.visible[partition]
        end = len(rows) if life == 3 else self.random.randint(index, len(rows))
        while index < end:
            polled = rows[index : min(end, index + self.random.randint(1, 4))]
            self.story.poll(*polled, **who, tenure=partition + 1)
            index += len(polled)
            if self.random.random() < 0.5:
                self.story.commit(f"{partition}/{self.offset(partition, index)}", **who)
                committed = index
        return committed

    def offset(self, partition: int, index: int) -> int:
        rows = self.visible[partition]
        return int(rows[index][1].partition("/")[2]) if index < len(rows) else self.ends[partition]


def correct_run(seed: int) -> Story:
    """A run in which nothing is wrong."""
    run = _Run(seed)
    for number in range(1, run.random.randint(3, 6)):
        for _ in range(run.random.randint(1, 4)):
            run.send_plain()
        run.send_transaction(number)
    for group in GROUPS:
        run.read(group)
    for rows in run.visible:
        run.story.log(*rows)
    return with_brokers(run.story)


def recorded_run() -> Story:
    """A small run of real brokers and clients: transactions, killed readers, a killed producer."""
    tables = {name: pl.read_parquet(RECORDED / f"{name}.parquet") for name in Story().rows}
    return with_brokers(story_of(Ledger(**tables), TOPIC))


def with_brokers(story: Story) -> Story:
    """Add what two brokers hold: a batch for each record of the log, the same on both."""
    rows = sorted(
        (row["partition"], row["offset"])
        for row in story.rows["seen"]
        if row["consumer"] == WITNESS
    )
    partitions = np.array([partition for partition, _ in rows] * 2, np.int64)
    offsets = np.array([offset for _, offset in rows] * 2, np.int64)
    replicas = ReplicaBatches(
        broker=np.repeat(np.arange(2, dtype=np.int32), len(rows)),
        partition=partitions,
        first_offset=offsets,
        last_offset=offsets,
        leader_epoch=np.zeros(len(offsets), np.int64),
        checksum=offsets,
    )
    ends = {}
    for partition in range(PARTITIONS):
        end = 1 + max((offset for number, offset in rows if number == partition), default=-1)
        ends[partition] = PartitionEnd(partition=partition, start=0, end=end, stable=end)
    story.facts = Facts(ends=ends, replicas=replicas, open_transactions=())
    return story
