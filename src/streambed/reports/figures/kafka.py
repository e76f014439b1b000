"""Figures of a Kafka cluster: leadership of brokers, partitions without a replica or leader."""

from __future__ import annotations

import polars as pl

from streambed.record.events import LeaderChanged
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import Absent, Figure, constant, lines
from streambed.reports.figures import processes

NOT_WATCHED = "No Kafka cluster with topics was watched."
NOBODY = "nobody"
LEADERS = {
    "component": pl.String,
    "partition": pl.String,
    "leader": pl.String,
    "from_s": pl.Float64,
    "to_s": pl.Float64,
    "dead": pl.Boolean,
}


def leadership(history: History) -> Figure | Absent:
    """Partitions led, by broker."""
    name, title = "leadership", "Leadership"
    led = series.samples(history, "leads_partitions")
    if led.is_empty():
        return Absent(name=name, title=title, reason=NOT_WATCHED)
    table = led.select("time_s", broker="of", partitions="value")
    same = constant(table, by="broker", value="partitions")
    if same is not None:
        each = ", ".join(f"{broker} {led:.0f}" for broker, led in sorted(same.items()))
        return Absent(name=name, title=title, reason=f"Partitions led throughout: {each}.")
    alive = processes.while_alive(history, table, by="broker")
    chart, says = lines(
        history,
        alive,
        by="broker",
        value="partitions",
        unit="partitions led",
        number="d",
        counts=True,
    )
    caption = (
        "How many partitions each broker leads, as the controller believes: it may count a broker "
        "as leader for some time after its process died. A line has a gap while the broker's "
        f"process is dead. {says}"
    )
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


def replication(history: History) -> Figure | Absent:
    """Partitions that lack a replica or a leader."""
    name, title = "replication", "Replication"
    affected = series.samples(history, "under_replicated", "leaderless")
    if affected.is_empty():
        return Absent(name=name, title=title, reason=NOT_WATCHED)
    what = pl.format("{} {}", pl.col("of"), pl.col("metric").str.replace("_", "-"))
    table = affected.select("time_s", "of", series=what, partitions="value")
    same = constant(table, by="series", value="partitions")
    if same is not None:
        numbers = ", ".join(f"{value:.0f} {what}" for what, value in sorted(same.items()))
        reason = f"Partitions throughout, as the controller believes: {numbers}."
        return Absent(name=name, title=title, reason=reason)
    chart, says = lines(
        history,
        table,
        by="series",
        value="partitions",
        unit="partitions",
        number="d",
        keep="max",
        counts=True,
    )
    caption = (
        "Partitions of which a replica is not in sync, and partitions without a leader, as the "
        f"controller believes: it notices a dead broker only after its session timeout. {says}"
    )
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


def leaders(history: History, until_s: float) -> pl.DataFrame:
    """The leader of each partition over time. `dead`: the leader's process was not running,
    although the controller did not know it yet.
    """
    changes: dict[tuple[str, str], list[LeaderChanged]] = {}
    for event in history.of(LeaderChanged):
        key = event.component, f"{event.topic}/{event.partition}"
        changes.setdefault(key, []).append(event)
    spans = []
    for (component, partition), events in changes.items():
        starts = [history.load_seconds(event.time) for event in events]
        for event, from_s, to_s in zip(events, starts, [*starts[1:], until_s], strict=True):
            leader = event.now or NOBODY
            away = processes.dead_spans(history, f"{component}/{leader}")
            spans += [
                (component, partition, leader, start, end, dead)
                for start, end, dead in split_by(from_s, to_s, away)
            ]
    return pl.DataFrame(spans, schema=LEADERS, orient="row")


def split_by(
    from_s: float, to_s: float, away: list[tuple[float, float]]
) -> list[tuple[float, float, bool]]:
    """Split a span into parts outside and inside of others, which are in order."""
    parts, start = [], from_s
    for away_from, away_to in away:
        if away_to <= start or away_from >= to_s:
            continue
        if away_from > start:
            parts.append((start, away_from, False))
        parts.append((max(start, away_from), min(to_s, away_to), True))
        start = min(to_s, away_to)
    if start < to_s:
        parts.append((start, to_s, False))
    return parts
