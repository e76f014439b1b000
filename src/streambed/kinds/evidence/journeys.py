"""Journeys: each record on its way to a consumer or through a job, from due to first seen."""

from __future__ import annotations

import polars as pl

from streambed.kinds.evidence import group_journeys
from streambed.kinds.evidence.course import IDENTITY, Unread, by_reader
from streambed.kinds.evidence.readers import Reader, evidence_of, of_component, readers_of
from streambed.record.events import Batch
from streambed.record.history import History

POSITION = ["topic", "partition", "offset"]
NOTHING_UNREAD = Unread()


def journeys(history: History, component: str) -> pl.DataFrame:
    """A row for each record and reader: topic, partition, offset, due, and what became of it.

    seen      when the reader, or a consumer of a job's output, first saw it; null if never
    silent    a job took it, and no output of it is known
    lost      it was never seen, although it was acked and its reader had caught up
    earliest, latest  bounds of when it was seen, where the time is not exact; null for others
    """
    declared = history.components.get(component)
    ran = any(event.component == component for event in history.of(Batch))
    if ran or (declared and declared.as_engine):
        return _through_job(history, component)
    return _to_consumer(history, component)


def _through_job(history: History, job: str) -> pl.DataFrame:
    evidence = evidence_of(history, job)
    records = evidence.journeys(history)
    if "acked" not in records.columns:
        records = records.with_columns(acked=pl.lit(True))  # It has an offset, so it is in the log.
    reader = Reader(name=job, components=(job,), evidence=evidence)
    outputs_read = all(
        other.unread(history, topic) == NOTHING_UNREAD
        for topic in evidence.writes
        for other in readers_of(history, topic)
    )
    unsure = _unread_rows(history, reader, records) if outputs_read else pl.lit(True)
    return _with_outcome(records, unsure)


def _to_consumer(history: History, component: str) -> pl.DataFrame:
    declared = history.components.get(component)
    groups = [reader.name for reader in declared.readers] if declared else []
    if declared is None or declared.hands_in_ledger or not groups:
        groups = _groups_seen(history, component, groups)
    if not groups:
        own = history.ledger.seen.filter(of_component("consumer", component))
        nothing_seen = _sent_records(history, [], own).with_columns(seen=None)
        return _with_outcome(nothing_seen, pl.lit(True))
    return pl.concat([_to_group(history, component, group) for group in groups])


def _groups_seen(history: History, component: str, declared: list[str]) -> list[str]:
    """The groups of a component whose ledger may name others than it declares."""
    identified = pl.col("producer").is_not_null()
    own = history.ledger.seen.filter(of_component("consumer", component) & identified)
    return list(dict.fromkeys([*declared, *own["group"].unique(maintain_order=True)]))


def _to_group(history: History, component: str, group: str) -> pl.DataFrame:
    """The journeys to the component's members of one group.

    A record that only another member saw was not on its way to this component.
    """
    reads = _topics_of_group(history, component, group)
    direct = group_journeys.journeys_to_group(history, component, group, reads)
    reader = _reader_of(history, reads, group)
    if direct is not None and reader is not None and not reader.latest:
        return _with_outcome(direct, _unread_rows(history, reader, direct))
    of_group = (pl.col("group") == group) & by_reader()
    by_group = history.ledger.seen.filter(of_group)
    records = _records_of_member(history, component, reads, by_group)
    if reader is None:
        return _with_outcome(records, pl.lit(True))
    if reader.latest:
        records = _since_group_began(records, by_group)
    # A record that was sent elsewhere came through a job, which may have left it out.
    elsewhere = ~pl.col("topic").is_in(reads)
    return _with_outcome(records, elsewhere | _unread_rows(history, reader, records))


def _records_of_member(
    history: History, component: str, reads: list[str], by_group: pl.DataFrame
) -> pl.DataFrame:
    """The sent records with `seen`, without those that only other members of the group saw."""
    mine = of_component("consumer", component)
    own = by_group.filter(mine & pl.col("producer").is_not_null())
    first_seen = own.group_by(IDENTITY).agg(pl.col("seen").min())
    others = by_group.filter(~mine).select(IDENTITY).unique().with_columns(by_another=True)
    records = _sent_records(history, reads, own)
    records = records.join(first_seen, on=IDENTITY, how="left")
    records = records.join(others, on=IDENTITY, how="left")
    return records.filter(pl.col("seen").is_not_null() | pl.col("by_another").is_null())


def _since_group_began(records: pl.DataFrame, by_group: pl.DataFrame) -> pl.DataFrame:
    """The records from the first offset that the group saw of each partition, and those seen."""
    began = by_group.group_by("topic", "partition").agg(began=pl.col("offset").min())
    records = records.join(began, on=["topic", "partition"], how="left")
    since_began = pl.col("offset") >= pl.col("began")
    return records.filter(pl.col("seen").is_not_null() | since_began)


def _topics_of_group(history: History, component: str, group: str) -> list[str]:
    declared = history.components.get(component)
    readers = declared.readers if declared else ()
    return [topic for reader in readers if reader.name == group for topic in reader.topics]


def _reader_of(history: History, topics: list[str], group: str) -> Reader | None:
    for topic in topics:
        for reader in readers_of(history, topic):
            if reader.name == group:
                return reader
    return None


def _sent_records(history: History, reads: list[str], own: pl.DataFrame) -> pl.DataFrame:
    """The records sent to these topics, or by any producer whose records arrived here.

    A job may have forwarded those, header and all.
    """
    producers = own["producer"].unique().to_list()
    awaited = pl.col("topic").is_in(reads) | pl.col("producer").is_in(producers)
    sent = history.ledger.sent.filter(awaited)
    return sent.with_columns(acked=pl.col("acked").is_not_null())


def _unread_rows(history: History, reader: Reader, records: pl.DataFrame) -> pl.Expr:
    """Whether the reader may not have read a record when the drain ended."""
    unsure = pl.lit(False)
    for topic in records["topic"].unique():
        unsure = unsure | ((pl.col("topic") == topic) & reader.unread(history, topic).rows())
    return unsure


def _with_outcome(records: pl.DataFrame, unsure: pl.Expr) -> pl.DataFrame:
    """Add `silent`, `lost` and bounds; a record that the reader may not have read is not lost."""
    if "latest" not in records.columns:
        records = records.with_columns(earliest=None, latest=None)
    if "untold" in records.columns:
        unsure = unsure | pl.col("untold")
    silent = pl.col("silent") if "silent" in records.columns else pl.lit(False)
    unseen = pl.col("seen").is_null()
    bounded = unseen & pl.col("latest").is_not_null() & ~unsure
    lost = unseen & pl.col("acked") & ~silent.fill_null(False) & ~unsure & ~bounded
    earliest = pl.max_horizontal("earliest", "due")
    return records.select(
        *POSITION,
        "due",
        pl.col("seen").cast(pl.Int64),
        silent=(silent & unseen).fill_null(False),
        lost=lost.fill_null(False),
        earliest=pl.when(bounded).then(earliest).cast(pl.Int64),
        latest=pl.when(bounded).then("latest").cast(pl.Int64),
    )
