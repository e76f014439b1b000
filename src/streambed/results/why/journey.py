"""The journey of one record, put together from ledgers, events and the brokers' own files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from streambed.kinds.check_table import CHECKS
from streambed.kinds.checks.check import rows_of_record
from streambed.kinds.checks.no_loss import acked_records, finding_of, lost_records
from streambed.kinds.declared_parts import revive
from streambed.kinds.evidence.by_batches import batches_of
from streambed.kinds.evidence.course import by_reader, faults_of
from streambed.kinds.evidence.readers import readers_of, witness_of
from streambed.plan import WITNESS
from streambed.record.events import Batch, Clock, ClusterState, LeaderChanged
from streambed.record.history import History
from streambed.record.ledger.schemas import Outcome
from streambed.results.why import steps
from streambed.results.why.record_name import RecordName
from streambed.results.why.steps import Step, text_of

OUTCOMES = {
    Outcome.NOT_WRITTEN: "not written",
    Outcome.UNKNOWN: "unknown",
    Outcome.ABORTED: "aborted",
}


@dataclass(frozen=True, kw_only=True)
class Truncation:
    """A new leader did not have the record, so the old one cut it off when it followed."""

    old_leader: str
    old_epoch: int
    new_leader: str
    new_epoch: int

    def __str__(self) -> str:
        return (
            f"{self.old_leader} acknowledged it as leader of epoch {self.old_epoch}, "
            f"{self.new_leader} became leader in epoch {self.new_epoch} without it, "
            f"and {self.old_leader} cut its log back to the new leader's"
        )


@dataclass(frozen=True, kw_only=True)
class Journey:
    """What happened to one record, in order of time."""

    record: RecordName
    steps: tuple[Step, ...]
    mechanism: Truncation | None = None
    """How the log lost it; None if it did not, or if that is unknown."""

    def lines(self, history: History) -> list[tuple[float | None, str]]:
        """Seconds since the load began, None after the run, and a line for each step."""
        return [
            (None if step.time is None else history.load_seconds(step.time), text_of(step))
            for step in self.steps
        ]


@dataclass(frozen=True, kw_only=True)
class _Epoch:
    time: int
    leader: str
    epoch: int
    in_sync: tuple[str, ...]


def journey_of(history: History, record: RecordName) -> Journey:
    """Every recorded step of a record: those with a time first, in order."""
    sent = history.ledger.sent.filter(record.rows()).to_dicts()
    acked = [row for row in sent if row["acked"] is not None]
    timed = [*_sent_steps(history, sent), *_reads(history, record), *_batches(history, sent)]
    afterwards: list[Step] = []
    mechanism = None
    if acked:
        first = acked[0]
        in_log = _in_log(history, record, first["topic"])
        deleted = _deleted(history, first)
        afterwards = [*in_log, *_broker_steps(history, first), *deleted]
        missing = any(not step.places for step in in_log)
        if missing and not deleted:
            timed += _moves(history, first)
            mechanism = _truncation(history, first)
    timed += _faults(history, timed)
    timed.sort(key=lambda step: step.time or 0)
    afterwards += [*_stored(history, record), *_not_read(history, record, acked)]
    return Journey(record=record, steps=(*timed, *afterwards), mechanism=mechanism)


def _sent_steps(history: History, rows: list[dict[str, Any]]) -> Iterator[Step]:
    for row in rows:
        yield steps.Due(time=row["due"], producer=row["producer"])
        if row["sent"] is not None:
            yield steps.Sent(time=row["sent"], late_ns=row["sent"] - row["due"])
        if row["acked"] is None:
            outcome: Any = OUTCOMES.get(row["outcome"], "unknown")
            yield steps.Failed(
                time=row["sent"] or row["due"], error=row["error"] or "no reply", outcome=outcome
            )
            continue
        epoch = _epoch_at(history, row, row["acked"])
        yield steps.Acked(
            time=row["acked"],
            topic=row["topic"],
            partition=row["partition"],
            offset=row["offset"],
            leader=epoch.leader if epoch else "",
            epoch=epoch.epoch if epoch else None,
            in_sync=epoch.in_sync if epoch else (),
        )


def _reads(history: History, record: RecordName) -> Iterator[Step]:
    seen = history.ledger.seen.filter(record.rows() & by_reader())
    for row in seen.to_dicts():
        yield steps.Read(
            time=row["seen"],
            consumer=row["consumer"],
            group=row["group"],
            topic=row["topic"],
            partition=row["partition"],
            offset=row["offset"],
            life=row["life"],
        )


def _batches(history: History, rows: list[dict[str, Any]]) -> Iterator[Step]:
    jobs = dict.fromkeys(event.component for event in history.of(Batch))
    for row in rows:
        for job in jobs:
            for event in batches_of(history, job):
                first, past = event.offsets.get(row["topic"], {}).get(row["partition"], (0, 0))
                offset = row["offset"] if row["offset"] is not None else -1
                if not (first or 0) <= offset < past:
                    continue
                yield steps.Taken(
                    time=event.start,
                    job=job,
                    batch=event.batch,
                    query=event.query,
                    missing=max(0, _acked_in(history, event) - event.rows),
                )


def _acked_in(history: History, batch: Batch) -> int:
    """How many acknowledged records the ranges of a batch have."""
    count = 0
    for topic, partitions in batch.offsets.items():
        for partition, (first, past) in partitions.items():
            at = (pl.col("topic") == topic) & (pl.col("partition") == partition)
            inside = pl.col("offset").is_between(first or 0, past - 1)
            acked = pl.col("acked").is_not_null()
            count += history.ledger.sent.filter(at & inside & acked).height
    return count


def _deleted(history: History, row: dict[str, Any]) -> list[Step]:
    """A step if the log began after its offset at the end of the run."""
    states = history.of(ClusterState)
    for state in states[-1].partitions if states else ():
        same = (state.topic, state.partition) == (row["topic"], row["partition"])
        if same and state.start is not None and 0 <= row["offset"] < state.start:
            return [steps.Deleted(start=state.start)]
    return []


def _stored(history: History, record: RecordName) -> Iterator[Step]:
    """How many rows of stores name it, as far as checks of delivery recorded them."""
    found: dict[str, int] = {}
    for body in history.declaration.get("checks", ()):
        check = revive(CHECKS, body)
        rows = rows_of_record(check, history, producer=record.producer, sequence=record.sequence)
        if rows is not None:
            found.setdefault(rows.store, rows.rows)
    for store, times in found.items():
        yield steps.Stored(store=store, rows=times)


def _moves(history: History, row: dict[str, Any]) -> list[Step]:
    return [
        steps.LeaderMoved(
            time=epoch.time,
            topic=row["topic"],
            partition=row["partition"],
            leader=epoch.leader,
            epoch=epoch.epoch,
        )
        for epoch in _leader_changes(history, row)
        if epoch.time > row["acked"]
    ]


def _leader_changes(history: History, row: dict[str, Any]) -> list[_Epoch]:
    """One entry per epoch, with the replicas in sync at its beginning."""
    changes: list[_Epoch] = []
    for epoch in _epochs(history, row):
        if not changes or changes[-1].epoch != epoch.epoch:
            changes.append(epoch)
    return changes


def _faults(history: History, timed: list[Step]) -> list[Step]:
    times = [step.time for step in timed if step.time is not None]
    if not times:
        return []
    return [
        steps.FaultActive(time=fault.start, fault=fault.name)
        for fault in faults_of(history)
        if fault.start <= max(times) and fault.end >= min(times)
    ]


def _in_log(history: History, record: RecordName, topic: str) -> list[steps.InLog]:
    """Where the read-back found it; nothing if the topic was not read back whole."""
    if witness_of(history, topic) is None:
        return []
    read_back = history.ledger.seen.filter(pl.col("consumer") == WITNESS)
    rows = read_back.filter(record.rows()).select("topic", "partition", "offset").rows()
    return [steps.InLog(places=tuple(rows))]


def _not_read(
    history: History, record: RecordName, acked: list[dict[str, Any]]
) -> Iterator[steps.NotRead]:
    for topic in dict.fromkeys(row["topic"] for row in acked):
        records = acked_records(history, topic)
        for reader in readers_of(history, topic):
            finding = finding_of(history, reader, topic, records)
            lost = lost_records([finding], history).filter(record.rows())
            for row in lost.to_dicts():
                yield steps.NotRead(reader=reader.name, where=row["where"])


def _broker_steps(history: History, row: dict[str, Any]) -> list[Step]:
    """What each broker's files hold at the offset that was acknowledged."""
    if history.broker_files is None or row["offset"] is None or row["offset"] < 0:
        return []
    batches = history.broker_files.log_batches.filter(_of_partition(row))
    epoch = _epoch_at(history, row, row["acked"])
    held_by: list[Step] = []
    for broker in batches["broker"].unique(maintain_order=True):
        at_offset = batches.filter(
            (pl.col("broker") == broker)
            & (pl.col("first") <= row["offset"])
            & (pl.col("last") >= row["offset"])
        )
        held = at_offset["epoch"].to_list()
        same = None if epoch is None or not held else held[0] == epoch.epoch
        held_by.append(steps.OnBroker(broker=broker, epoch=held[0] if held else None, same=same))
    return held_by


def _of_partition(row: dict[str, Any]) -> pl.Expr:
    topic, partition = pl.lit(row["topic"]), pl.lit(row["partition"])
    return (pl.col("topic") == topic) & (pl.col("partition") == partition)


def _epochs(history: History, row: dict[str, Any]) -> list[_Epoch]:
    """The partition's leader epochs: from the brokers' files, else from polled leader changes."""
    clocks = history.of(Clock)
    if history.broker_files is not None and clocks:
        leaders = history.broker_files.leaders.filter(_of_partition(row)).to_dicts()
        return [
            _Epoch(
                time=_monotonic(clocks, one["timestamp"]),
                leader=one["leader"],
                epoch=one["epoch"],
                in_sync=tuple(one["in_sync"]),
            )
            for one in leaders
        ]
    changes = [
        event
        for event in history.of(LeaderChanged)
        if event.topic == row["topic"] and event.partition == row["partition"]
    ]
    return [
        _Epoch(time=event.time, leader=event.now, epoch=event.epoch, in_sync=())
        for event in changes
    ]


def _monotonic(clocks: list[Clock], wall_ms: int) -> int:
    wall_ns = wall_ms * 1_000_000
    nearest = min(clocks, key=lambda clock: abs(clock.wall_ns - wall_ns))
    return nearest.time + wall_ns - nearest.wall_ns


def _epoch_at(history: History, row: dict[str, Any], time: int) -> _Epoch | None:
    before = [epoch for epoch in _epochs(history, row) if epoch.time <= time]
    return before[-1] if before else None


def _truncation(history: History, row: dict[str, Any]) -> Truncation | None:
    """The leader that took over from the one that acknowledged the record, without having it."""
    old = _epoch_at(history, row, row["acked"])
    if old is None:
        return None
    later = [epoch for epoch in _leader_changes(history, row) if epoch.epoch > old.epoch]
    new = next((epoch for epoch in later if epoch.leader not in ("", old.leader)), None)
    if new is None:
        return None
    return Truncation(
        old_leader=old.leader, old_epoch=old.epoch, new_leader=new.leader, new_epoch=new.epoch
    )
