"""Figures of a Kafka cluster: leadership of brokers, partitions without a replica or leader."""

from __future__ import annotations

import polars as pl

from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import Absent, Figure, lines

NOT_WATCHED = "No Kafka cluster with topics was watched."


def leadership(history: History) -> Figure | Absent:
    """Partitions led, by broker."""
    name, title = "leadership", "Leadership"
    led = series.samples(history, "leads_partitions")
    if led.is_empty():
        return Absent(name=name, title=title, reason=NOT_WATCHED)
    table = led.select("time_s", broker="of", partitions="value")
    chart, says = lines(
        history, table, by="broker", value="partitions", unit="partitions led", number="d"
    )
    caption = (
        "How many partitions each broker leads, by the newest epoch that any broker knows of. "
        f"{says}"
    )
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


def replication(history: History) -> Figure | Absent:
    """Partitions that lack a replica or a leader."""
    name, title = "replication", "Replication"
    affected = series.samples(history, "under_replicated", "leaderless")
    if affected.is_empty():
        return Absent(name=name, title=title, reason=NOT_WATCHED)
    what = pl.format("{} {}", pl.col("of"), pl.col("metric").str.replace("_", " "))
    table = affected.select("time_s", "of", series=what, partitions="value")
    chart, says = lines(
        history, table, by="series", value="partitions", unit="partitions", number="d", keep="max"
    )
    caption = (
        f"Partitions of which a replica is not in sync, and partitions without a leader. {says}"
    )
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)
