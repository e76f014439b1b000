"""Readers of a topic: consumer groups, Spark jobs, and the witness that reads back after the drain; and how often each saw a record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from streambed.history import WITNESS, History
from streambed.kinds.checks.batches import ranges_of, times_taken, untold_of
from streambed.kinds.checks.course import witness_finished

IDENTITY = ["producer", "sequence"]


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Somebody who must see every acked record: a group's consumers together, or one Spark job."""

    name: str
    components: tuple[str, ...]
    spark: bool = False
    latest: bool = False
    """It began with the newest record: what is older than the first that it saw is no loss."""


def of_component(column: str, component: str) -> pl.Expr:
    """Whether a producer or consumer of the ledger is this component, or one of those that it has on many hosts."""
    return (pl.col(column) == component) | pl.col(column).str.starts_with(f"{component}/")


def topics_in(declared: object) -> tuple[str, ...]:
    """The topics of a `reads` or `writes` key, which may hold one or a list."""
    if isinstance(declared, str):
        return (declared,)
    return tuple(declared) if isinstance(declared, (list, tuple)) else ()


def declared_groups(name: str, declared: dict[str, Any]) -> list[str]:
    """The group of a consumer or sink; of a consumer on several hosts, those of all hosts if each has its own."""
    if declared.get("share", True):
        return [declared.get("group") or name]
    return [f"{name}/{host}" for host in declared.get("nodes", ())] or [name]


def readers_of(history: History, topic: str) -> list[Reader]:
    """All who were declared to read a topic, and all who did."""
    groups: dict[str, dict[str, Any]] = {}
    for name, declared in history.components("consumer", "sink").items():
        if topic in topics_in(declared.get("reads")):
            for group in declared_groups(name, declared):
                groups.setdefault(group, {})[name] = declared
    seen = history.ledger.seen.filter((pl.col("topic") == topic) & (pl.col("consumer") != WITNESS))
    for group, consumer in seen.select("group", "consumer").unique(maintain_order=True).iter_rows():
        groups.setdefault(group, {}).setdefault(consumer.partition("/")[0], {})
    jobs = dict.fromkeys(name for name, declared in history.components("spark_job").items() if topic in topics_in(declared.get("reads")))
    jobs |= dict.fromkeys(event.fields["component"] for event in history.of("batch") if topic in event.fields["offsets"])
    return [
        *(Reader(name=group, components=tuple(members), latest=_latest(members.values())) for group, members in groups.items()),
        *(Reader(name=job, components=(job,), spark=True) for job in jobs),
    ]


def _latest(members: Iterable[dict[str, Any]]) -> bool:
    return any(declared.get("start") == "latest" for declared in members)


def witness_of(history: History, topic: str) -> Reader | None:
    """The witness as a reader, if it read the whole topic back. Half a reading would make the rest look lost."""
    if not witness_finished(history):
        return None
    read = history.ledger.seen.filter((pl.col("topic") == topic) & (pl.col("consumer") == WITNESS))
    return None if read.is_empty() else Reader(name=WITNESS, components=(WITNESS,))


def times_seen(history: History, reader: Reader, topic: str, records: pl.DataFrame) -> pl.Series:
    """How often a reader saw each of these records of a topic."""
    if reader.spark:
        ranges = pl.concat([ranges_of(history, reader.name), untold_of(history, reader.name)])
        return times_taken(ranges.filter(pl.col("topic") == topic), records)
    who = pl.col("consumer") == WITNESS if reader.name == WITNESS else (pl.col("group") == reader.name) & (pl.col("consumer") != WITNESS)
    counts = history.ledger.seen.filter((pl.col("topic") == topic) & who).group_by(IDENTITY).agg(times=pl.len().cast(pl.Int64))
    return records.join(counts, on=IDENTITY, how="left", maintain_order="left")["times"].fill_null(0)


def without_ledger(history: History, topic: str) -> list[str]:
    """The producers and consumers of a topic that noted nothing: of what they did with it, nothing can be said."""
    kinds = {"writes": history.components("producer"), "reads": history.components("consumer")}
    return [
        name
        for key, found in kinds.items()
        for name, declared in found.items()
        if topic in topics_in(declared.get(key)) and not declared.get("ledger", True)
    ]
