"""Journeys: every record on its way to a consumer or through a job, from when it was due until it
was seen, or surely was not.
"""

from __future__ import annotations

import polars as pl

from streambed.kinds.evidence.course import Unread
from streambed.kinds.evidence.readers import IDENTITY, Reader, engine_of, of_component, readers_of
from streambed.plan import WITNESS
from streambed.record.events import Batch
from streambed.record.history import History

PLACE = ["topic", "partition", "offset"]
NOTHING_UNREAD = Unread()


def journeys(history: History, component: str) -> pl.DataFrame:
    """A row for each record and reader: topic, partition, offset, due, seen, silent, lost.

    seen    when the reader, or a consumer of a job's output, first saw it; null: never
    silent  the job took it, and nothing is known to have come out of it
    lost    it was never seen, although it was acked and its reader had caught up
    """
    declared = history.components.get(component)
    ran = any(event.component == component for event in history.of(Batch))
    if ran or (declared and declared.as_engine):
        return _through_job(history, component)
    return _to_consumer(history, component)


def _through_job(history: History, job: str) -> pl.DataFrame:
    engine = engine_of(history, job)
    found = engine.journeys(history)
    if "acked" not in found.columns:
        found = found.with_columns(acked=pl.lit(True))  # It has an offset, so it is in the log.
    reader = Reader(name=job, components=(job,), engine=engine)
    outputs_read = all(
        other.unread(history, topic) == NOTHING_UNREAD
        for topic in engine.writes
        for other in readers_of(history, topic)
    )
    unsure = _unread_rows(history, reader, found) if outputs_read else pl.lit(True)
    return _judged(found, unsure)


def _to_consumer(history: History, component: str) -> pl.DataFrame:
    declared = history.components.get(component)
    names = [reader.name for reader in declared.readers] if declared else []
    own = history.ledger.seen.filter(
        of_component("consumer", component) & pl.col("producer").is_not_null()
    )
    groups = list(dict.fromkeys([*names, *own["group"].unique(maintain_order=True)]))
    parts = [_to_group(history, component, group) for group in groups]
    return (
        pl.concat(parts)
        if parts
        else _judged(_sent(history, [], own).with_columns(seen=None), pl.lit(True))
    )


def _to_group(history: History, component: str, group: str) -> pl.DataFrame:
    """What the members of one group saw that belong to the component. What another member saw is
    not on its way to this one.
    """
    by_group = history.ledger.seen.filter(
        (pl.col("group") == group) & (pl.col("consumer") != WITNESS)
    )
    mine = of_component("consumer", component)
    own = by_group.filter(mine & pl.col("producer").is_not_null())
    first = own.group_by(IDENTITY).agg(pl.col("seen").min())
    others = by_group.filter(~mine).select(IDENTITY).unique().with_columns(by_another=True)
    declared = history.components.get(component)
    reads = (
        [topic for reader in declared.readers if reader.name == group for topic in reader.topics]
        if declared
        else []
    )
    sent = _sent(history, reads, own).join(first, on=IDENTITY, how="left")
    found = sent.join(others, on=IDENTITY, how="left").filter(
        pl.col("seen").is_not_null() | pl.col("by_another").is_null()
    )
    reader = next(
        (
            reader
            for topic in reads
            for reader in readers_of(history, topic)
            if reader.name == group
        ),
        None,
    )
    if reader is None:
        return _judged(found, pl.lit(True))
    if reader.latest:
        began = by_group.group_by("topic", "partition").agg(began=pl.col("offset").min())
        found = found.join(began, on=["topic", "partition"], how="left")
        found = found.filter(pl.col("seen").is_not_null() | (pl.col("offset") >= pl.col("began")))
    # What was sent elsewhere came by way of a job, which may have left it out.
    elsewhere = ~pl.col("topic").is_in(reads)
    return _judged(found, elsewhere | _unread_rows(history, reader, found))


def _sent(history: History, reads: list[str], own: pl.DataFrame) -> pl.DataFrame:
    """What was sent to these topics, or by anybody whose records came here: a job may pass a record
    on, header and all.
    """
    awaited = pl.col("topic").is_in(reads) | pl.col("producer").is_in(
        own["producer"].unique().to_list()
    )
    sent = history.ledger.sent.filter(awaited)
    return sent.with_columns(acked=pl.col("acked").is_not_null())


def _unread_rows(history: History, reader: Reader, records: pl.DataFrame) -> pl.Expr:
    """Whether the reader may not have read a record when the run stopped waiting."""
    unsure = pl.lit(False)
    for topic in records["topic"].unique():
        unsure = unsure | ((pl.col("topic") == topic) & reader.unread(history, topic).rows())
    return unsure


def _judged(found: pl.DataFrame, unsure: pl.Expr) -> pl.DataFrame:
    silent = pl.col("silent") if "silent" in found.columns else pl.lit(False)
    unseen = pl.col("seen").is_null()
    return found.select(
        *PLACE,
        "due",
        pl.col("seen").cast(pl.Int64),
        silent=(silent & unseen).fill_null(False),
        lost=(unseen & pl.col("acked") & ~silent.fill_null(False) & ~unsure).fill_null(False),
    )
