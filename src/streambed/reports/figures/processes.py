"""Figures of processes: when each ran, and its use of CPU and memory."""

from __future__ import annotations

import polars as pl

from streambed.plan import Plan
from streambed.record.events import ProcessEnded, ProcessStarted
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import Absent, Figure, lines

LIVES = {
    "process": pl.String,
    "component": pl.String,
    "node": pl.String,
    "start_s": pl.Float64,
    "end_s": pl.Float64,
    "status": pl.String,
    "expected": pl.Boolean,
    "last_lines": pl.String,
}


def lives(history: History) -> pl.DataFrame:
    """One row for each time a process was started; end_s is null if its end was not recorded."""
    lives: list[dict[str, object]] = []
    alive: dict[str, dict[str, object]] = {}
    for event in history.of(ProcessStarted, ProcessEnded):
        if isinstance(event, ProcessStarted):
            life = {"process": event.process, "component": event.component, "node": event.node}
            alive[event.process] = life | {"start_s": history.seconds(event.time)}
            lives.append(alive[event.process])
        elif isinstance(event, ProcessEnded) and event.process in alive:
            alive.pop(event.process).update(_end(event) | {"end_s": history.seconds(event.time)})
    return pl.DataFrame(lives, schema=LIVES)


def _end(event: ProcessEnded) -> dict[str, object]:
    return {
        "status": str(event.status),
        "expected": event.expected,
        "last_lines": "\n".join(event.last_lines),
    }


def processors(history: History, plan: Plan | None) -> Figure | Absent:
    """Processor cores in use, by process."""
    name, title = "processors", "Processor cores in use"
    cores = series.rates(history, "process_cpu_s")
    if cores.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="No process was sampled twice, so there is no use of processors to show.",
        )
    table = cores.select("time_s", process="of", cores="value")
    chart, says = lines(history, table, by="process", value="cores", unit="cores")
    machine = f"This machine has {plan.machine.cores}. " if plan else ""
    total = max(table.group_by("time_s").agg(pl.col("cores").sum())["cores"])
    caption = (
        f"Seconds of processor time in a second; one is one core. {machine}"
        f"All together used {total:.2g} at most. {says}"
    )
    return Figure(
        name=name,
        title=title,
        caption=caption,
        chart=chart,
        table=table,
        summary=_use(history, table),
    )


def _use(history: History, cores: pl.DataFrame) -> pl.DataFrame:
    memory = (
        series.samples(history, "process_rss_bytes")
        .group_by(process="of")
        .agg((pl.col("value").max() / 2**20).round(1).alias("most memory MiB"))
    )
    used = cores.group_by("process").agg(
        pl.col("cores").mean().alias("mean cores"), pl.col("cores").max().alias("most cores")
    )
    return used.join(memory, on="process", how="left").sort("mean cores", descending=True)


def memory(history: History) -> Figure | Absent:
    """Memory in use, by process."""
    name, title = "memory", "Memory in use"
    rss_bytes = series.samples(history, "process_rss_bytes")
    if rss_bytes.is_empty():
        return Absent(name=name, title=title, reason="The memory of no process was sampled.")
    table = rss_bytes.select("time_s", process="of", mib=pl.col("value") / 2**20)
    chart, says = lines(history, table, by="process", value="mib", unit="MiB", keep="max")
    caption = f"Resident memory of each process and its children. {says}"
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)
