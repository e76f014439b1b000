"""Figures of Spark's micro-batches: how long each took and how many rows it read."""

from __future__ import annotations

from collections import Counter

import polars as pl

from streambed.kinds.declared_parts import components_of
from streambed.plan import Plan
from streambed.record.events import Batch
from streambed.record.history import History
from streambed.reports.figure import Absent, Figure, lines

NO_BATCH = "No Spark job finished a micro-batch."


def batches(history: History) -> pl.DataFrame:
    """One row per micro-batch: time_s (its end), job, batch, trigger_s, rows."""
    events = history.of(Batch)
    queries = {(event.component, event.query) for event in events}
    query_count = Counter(component for component, _ in queries)
    batches = []
    for event in events:
        job = event.component
        if query_count[event.component] > 1:
            job = f"{event.component} {event.query}"
        batches.append(
            {
                "time_s": history.seconds(event.end),
                "job": job,
                "batch": event.batch,
                "trigger_s": event.durations_ms.get("triggerExecution", 0) / 1e3,
                "rows": float(event.rows),
            }
        )
    schema = {
        "time_s": pl.Float64,
        "job": pl.String,
        "batch": pl.Int64,
        "trigger_s": pl.Float64,
        "rows": pl.Float64,
    }
    return pl.DataFrame(batches, schema=schema).sort("job", "time_s")


def state_places(plan: Plan) -> str:
    """Where jobs keep checkpoints and event logs, in words."""
    places: dict[str, list[str]] = {}
    for name, component in components_of(plan.declaration).items():
        by_store: dict[str, list[str]] = {}
        for what, store in component.state_places.items():
            by_store.setdefault(store, []).append(what)
        for store, things in by_store.items():
            places.setdefault(_place(store), []).append(f"{' and '.join(things)} of {name}")
    return "; ".join(f"{', '.join(what)} {place}" for place, what in places.items())


def _place(hdfs: str) -> str:
    return f"in {hdfs}" if hdfs else "on the driver's disk, past the network"


def durations(history: History) -> Figure | Absent:
    """How long each micro-batch took."""
    name, title = "batch_durations", "Duration of Spark micro-batches"
    table = batches(history)
    if table.is_empty():
        return Absent(name=name, title=title, reason=NO_BATCH)
    chart, says = lines(
        history, table, by="job", value="trigger_s", unit="duration in s", keep="max"
    )
    caption = f"Spark's triggerExecution, at the end of each batch. {says}"
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


def batch_rows(history: History) -> Figure | Absent:
    """How many rows each micro-batch read."""
    name, title = "batch_rows", "Rows of Spark micro-batches"
    table = batches(history)
    if table.is_empty():
        return Absent(name=name, title=title, reason=NO_BATCH)
    chart, says = lines(history, table, by="job", value="rows", unit="rows", number="~s")
    caption = f"Input rows of each batch, at its end. {says}"
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)
