"""Figures of Spark's micro-batches: how long each took and how many rows it read."""

from __future__ import annotations

import polars as pl

from streambed.history import History
from streambed.plan import Plan
from streambed.reports.figure import Absent, Figure, lines

NO_BATCH = "No Spark job finished a micro-batch."


def batches(history: History) -> pl.DataFrame:
    """One row for each micro-batch: when it ended, job, batch, how long its trigger took, rows it read."""
    events = [event.fields | {"time": event.time} for event in history.of("batch")]
    queries = {(fields["component"], fields.get("query")) for fields in events}
    several = {component for component, _ in queries if sum(component == other for other, _ in queries) > 1}
    found = [
        {
            "time_s": history.seconds(fields.get("end", fields["time"])),
            "job": f"{fields['component']} {fields.get('query')}" if fields["component"] in several else fields["component"],
            "batch": fields.get("batch"),
            "trigger_s": fields.get("durations_ms", {}).get("triggerExecution", 0) / 1e3,
            "rows": float(fields.get("rows") or 0),
        }
        for fields in events
    ]
    schema = {"time_s": pl.Float64, "job": pl.String, "batch": pl.Int64, "trigger_s": pl.Float64, "rows": pl.Float64}
    return pl.DataFrame(found, schema=schema).sort("job", "time_s")


def kept(plan: Plan) -> str:
    """Where jobs kept checkpoints and event logs; those on a driver's disk did not have to pass the network."""
    jobs = {name: found for name, found in plan.declaration["components"].items() if found["kind"] == "spark_job"}
    places: dict[str, list[str]] = {}
    for name, job in jobs.items():
        checkpoint, event_log = job.get("checkpoint", ""), job.get("event_log", "")
        if checkpoint == event_log:
            places.setdefault(_place(checkpoint), []).append(f"checkpoint and event log of {name}")
        else:
            places.setdefault(_place(checkpoint), []).append(f"checkpoint of {name}")
            places.setdefault(_place(event_log), []).append(f"event log of {name}")
    return "; ".join(f"{', '.join(what)} {place}" for place, what in places.items())


def _place(hdfs: str) -> str:
    return f"in {hdfs}" if hdfs else "on the driver's disk, past the network"


def durations(history: History) -> Figure | Absent:
    """How long each micro-batch took."""
    name, title = "batch_durations", "Duration of Spark micro-batches"
    table = batches(history)
    if table.is_empty():
        return Absent(name=name, title=title, reason=NO_BATCH)
    chart, says = lines(history, table, by="job", value="trigger_s", unit="duration in s", keep="max")
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
