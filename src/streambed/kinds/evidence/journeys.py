"""Journeys: each record on its way to a consumer or through a job, from due to first seen."""

from __future__ import annotations

import polars as pl

from streambed.kinds.evidence.course import IDENTITY, Unread
from streambed.kinds.evidence.readers import Reader, evidence_of, of_component, readers_of
from streambed.plan import WITNESS
from streambed.record.events import Batch
from streambed.record.history import History

POSITION = ["topic", "partition", "offset"]
NOTHING_UNREAD = Unread()


def journeys(history: History, component: str) -> pl.DataFrame:
    """A row for each record and reader: topic, partition, offset, due, seen, silent, lost.

    seen    when the reader, or a consumer of a job's output, first saw it; null if never
    silent  a job took it, and no output of it is known
    lost    it was never seen, although it was acked and its reader had caught up
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
    names = [reader.name for reader in declared.readers] if declared else []
    identified = pl.col("producer").is_not_null()
    own = history.ledger.seen.filter(of_component("consumer", component) & identified)
    groups = list(dict.fromkeys([*names, *own["group"].unique(maintain_order=True)]))
    if not groups:
        nothing_seen = _sent(history, [], own).with_columns(seen=None)
        return _with_outcome(nothing_seen, pl.lit(True))
    return pl.concat([_to_group(history, component, group) for group in groups])


def _to_group(history: History, component: str, group: str) -> pl.DataFrame:
    """The journeys to the component's members of one group.

    A record that only another member saw was not on its way to this component.
    """
    of_group = (pl.col("group") == group) & (pl.col("consumer") != WITNESS)
    by_group = history.ledger.seen.filter(of_group)
    mine = of_component("consumer", component)
    own = by_group.filter(mine & pl.col("producer").is_not_null())
    first_seen = own.group_by(IDENTITY).agg(pl.col("seen").min())
    others = by_group.filter(~mine).select(IDENTITY).unique().with_columns(by_another=True)
    reads = _topics_of_group(history, component, group)
    sent = _sent(history, reads, own).join(first_seen, on=IDENTITY, how="left")
    records = sent.join(others, on=IDENTITY, how="left")
    records = records.filter(pl.col("seen").is_not_null() | pl.col("by_another").is_null())
    reader = _reader_of(history, reads, group)
    if reader is None:
        return _with_outcome(records, pl.lit(True))
    if reader.latest:
        began = by_group.group_by("topic", "partition").agg(began=pl.col("offset").min())
        records = records.join(began, on=["topic", "partition"], how="left")
        since_began = pl.col("offset") >= pl.col("began")
        records = records.filter(pl.col("seen").is_not_null() | since_began)
    # A record that was sent elsewhere came through a job, which may have left it out.
    elsewhere = ~pl.col("topic").is_in(reads)
    return _with_outcome(records, elsewhere | _unread_rows(history, reader, records))


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


def _sent(history: History, reads: list[str], own: pl.DataFrame) -> pl.DataFrame:
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
    """Add `silent` and `lost`; a record that the reader may not have read is not lost."""
    silent = pl.col("silent") if "silent" in records.columns else pl.lit(False)
    unseen = pl.col("seen").is_null()
    lost = unseen & pl.col("acked") & ~silent.fill_null(False) & ~unsure
    return records.select(
        *POSITION,
        "due",
        pl.col("seen").cast(pl.Int64),
        silent=(silent & unseen).fill_null(False),
        lost=lost.fill_null(False),
    )
