"""What reached a target: a consumer group, a job, an output topic or a table of a store."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from streambed.judge.arrays import Topic
from streambed.judge.reading import topic_of
from streambed.kinds.evidence.by_batches import ranges_of, times_taken, unreported_ranges
from streambed.kinds.evidence.outputs.identity import Identity, index_of_rows
from streambed.kinds.evidence.outputs.input_log import (
    ABSENT,
    UNNAMED,
    Flags,
    InputLog,
    Numbers,
    identities_of,
    input_log,
    records_of,
)
from streambed.kinds.evidence.readers import Reader
from streambed.plan import WITNESS
from streambed.record.events import ProcessStarted
from streambed.record.history import History
from streambed.record.ledger.stored_rows import StoreQuery

CACHED = "deliveries to groups"
HELD_MAX = 2
"""How many are held, so that checks of one group share them."""


class NothingKnown(Exception):
    """There is no evidence of what reached a target; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """The inputs behind all outputs of a target."""

    times: Numbers
    """How often each input of the log reached the target."""
    expected: Numbers
    """How often it should: as often as it is in the log."""
    how: str
    """By what outputs were matched to inputs, for people."""
    index: Numbers
    """The input of each output, in the order of writing; ABSENT, UNNAMED or ELSEWHERE
    if there is none.
    """
    lanes: Numbers
    """Outputs of one lane have an order: each partition of an output topic is a lane."""
    unsure: str = ""
    """Why an input may have reached the target more often than `times` says; empty if not."""

    @property
    def absent(self) -> int:
        """How many outputs name a record that the log does not have."""
        return int((self.index == ABSENT).sum())

    @property
    def unnamed(self) -> int:
        """How many outputs name no record."""
        return int((self.index == UNNAMED).sum())


def _delivery(
    log: InputLog, index: Numbers, lanes: Numbers, *, how: str, by_place: bool
) -> Delivery:
    """Count the outputs of each input."""
    return Delivery(
        times=np.bincount(index[index >= 0], minlength=len(log)),
        expected=np.ones(len(log), dtype=np.int64) if by_place else log.times_in_log(),
        how=how,
        index=index,
        lanes=lanes,
    )


def to_group(history: History, log: InputLog, group: str) -> Delivery:
    """What a consumer group saw, by partition and offset.

    A record that the log has at another place, or nowhere, is absent: it was truncated.
    """
    held: dict[tuple[str, str], Numbers] = history.ledger.derived.setdefault(CACHED, {})
    if (log.topic, group) not in held:
        while len(held) >= HELD_MAX:
            held.pop(next(iter(held)))
        held[log.topic, group] = _index_of_reads(log, topic_of(history.ledger, log.topic), group)
    index = held[log.topic, group]
    return _delivery(log, index, _one_lane(index), how="its ledger", by_place=True)


def _index_of_reads(log: InputLog, topic: Topic, group: str) -> Numbers:
    """The input of each record that a group read, in the order of reading."""
    reads = topic.reads.get(group)
    if reads is None or topic.committed is None:
        return np.zeros(0, np.int64)
    place, record = reads.place, reads.record
    if (reads.time[1:] < reads.time[:-1]).any():
        order = np.argsort(reads.time, kind="stable")  # Records of one poll stay in their order.
        place, record = place[order], record[order]
    index = log.index_of_places(place)
    here = index >= 0
    other = np.zeros(len(index), dtype=bool)
    if log.deleted is None:
        other[here] = topic.committed.record[index[here]] != record[here]
    else:  # Rows of the log are not those of the read-back.
        other[here] = log.records[index[here]] != identities_of(topic, record[here])
    index[other] = ABSENT
    return index


def _one_lane(index: Numbers) -> Numbers:
    return np.broadcast_to(np.zeros(1, np.int64), len(index))


def to_topic(history: History, log: InputLog, topic: str, identity: Identity | None) -> Delivery:
    """What a job wrote to a topic, in the order of the log; by header if there is no identity."""
    outputs = input_log(history, topic)
    if outputs is None:
        raise NothingKnown(f"{topic} was not read back")
    if identity is None:
        index = _by_header(log, outputs)
        how, by_place = "the identity header", False
    else:
        index = index_of_rows(values_at(history, topic, identity.columns), identity, log)
        how, by_place = identity.text, identity.by_place
    if len(index) != len(outputs):
        raise NothingKnown(f"keys and values of {topic} were not kept to the end")
    lanes = outputs.partitions
    return _delivery(log, index, lanes, how=how, by_place=by_place)


def _by_header(log: InputLog, outputs: InputLog) -> Numbers:
    names = outputs.names(np.arange(len(outputs)))
    sequences = names["sequence"].replace(-1, None)
    return log.index_of_records(records_of(names["producer"], sequences, log.producers))


def values_at(history: History, topic: str, paths: tuple[str, ...]) -> pl.DataFrame:
    """Values of a topic by JSON paths, a column for each, in the order of the log."""
    of_topic = (pl.col("topic") == topic) & (pl.col("consumer") == WITNESS)
    kept = history.ledger.kept.filter(of_topic).sort("partition", "offset")
    text = kept["value"].cast(pl.String, strict=False)
    columns = []
    for path in paths:
        try:
            columns.append(text.str.json_path_match(path).alias(path))
        except pl.exceptions.ComputeError as error:
            raise NothingKnown(f"the values of {topic} have no {path}: {error}") from None
    return pl.DataFrame(columns)


def to_store(
    history: History, log: InputLog, query: StoreQuery, identity: Identity, order: str = ""
) -> Delivery:
    """What a store holds; in the order of a column if one is named."""
    result = history.rows_of(query)
    if result.rows is None:
        raise NothingKnown(f"{query.store} could not be read: {result.error}")
    named = (*identity.columns, *([order] if order else []))
    missing = [column for column in named if column not in result.rows.columns]
    if missing:
        raise NothingKnown(
            f"the rows of {query.store} have no column {', '.join(missing)}; "
            f"they have {', '.join(result.rows.columns)}"
        )
    rows = result.rows.sort(order) if order else result.rows
    index = index_of_rows(rows, identity, log)
    lanes = _one_lane(index)
    return _delivery(log, index, lanes, how=identity.text, by_place=identity.by_place)


def to_job(history: History, log: InputLog, job: str) -> Delivery:
    """What the batches of a job took. How often a batch took effect, they do not tell."""
    ranges = pl.concat([ranges_of(history, job), unreported_ranges(history, job)])
    if ranges.is_empty():
        raise NothingKnown(f"{job} reported no batches")
    places = pl.DataFrame({"partition": log.partitions, "offset": log.offsets})
    times = times_taken(ranges.filter(pl.col("topic") == log.topic), places).to_numpy()
    starts = [event for event in history.of(ProcessStarted) if event.component == job]
    repeated = unreported_ranges(history, job).height or len(starts) > 1
    nothing = np.zeros(0, dtype=np.int64)
    return Delivery(
        times=times,
        expected=np.ones(len(log), dtype=np.int64),
        how="batch ranges only, which do not tell what a batch wrote",
        index=nothing,
        lanes=nothing,
        unsure=f"{job} was restarted, and may have carried out a batch twice" if repeated else "",
    )


def undecided_inputs(history: History, log: InputLog, reader: Reader, times: Numbers) -> Flags:
    """Whether the run may have ended before the reader reached an input that it did not take."""
    unread = reader.unread(history, log.topic)
    if not unread.everything and not unread.partitions:
        return np.zeros(len(log), dtype=bool)
    partitions = log.partitions
    last = np.full(int(partitions.max(initial=0)) + 1, -1, dtype=np.int64)
    reached = np.flatnonzero(times > 0)
    np.maximum.at(last, partitions[reached], reached)
    beyond: Flags = np.arange(len(log)) > last[partitions]
    if not unread.everything:
        beyond &= np.isin(partitions, list(unread.partitions))
    beyond &= times == 0
    return beyond


def older_than_start(log: InputLog, reader: Reader, times: Numbers) -> Flags:
    """Whether an input precedes the first one of a reader that began at the latest record."""
    if not reader.latest:
        return np.zeros(len(log), dtype=bool)
    partitions = log.partitions
    first = np.full(int(partitions.max(initial=0)) + 1, len(log), dtype=np.int64)
    reached = np.flatnonzero(times > 0)
    np.minimum.at(first, partitions[reached], reached)
    before: Flags = np.arange(len(log)) < first[partitions]
    return before
