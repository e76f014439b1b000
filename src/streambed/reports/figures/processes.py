"""Figures of processes: when each ran, and its use of CPU and memory."""

from __future__ import annotations

from itertools import zip_longest

import polars as pl

from streambed.plan import Plan
from streambed.record.events import ProcessEnded, ProcessStarted
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import Absent, Figure, end_s, lines

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
            alive[event.process] = life | {"start_s": history.load_seconds(event.time)}
            lives.append(alive[event.process])
        elif isinstance(event, ProcessEnded) and event.process in alive:
            alive.pop(event.process).update(
                _end(event) | {"end_s": history.load_seconds(event.time)}
            )
    return pl.DataFrame(lives, schema=LIVES)


def dead_spans(history: History, process: str) -> list[tuple[float, float]]:
    """When a process was dead between two of its lives, or after its last one."""
    of_process = lives(history).filter(pl.col("process") == process)
    ends, starts = of_process["end_s"].to_list(), of_process["start_s"].to_list()
    spans = []
    for end, start in zip_longest(ends, starts[1:]):
        if end is not None:
            spans.append((end, end_s(history) if start is None else start))
    return spans


def while_alive(history: History, table: pl.DataFrame, *, by: str) -> pl.DataFrame:
    """The rows of processes that were alive at their time; `by` holds the process."""
    for process in table[by].unique():
        for dead_from, dead_to in dead_spans(history, process):
            inside = pl.col("time_s").is_between(dead_from, dead_to, closed="none")
            table = table.filter((pl.col(by) != process) | ~inside)
    return table


def _end(event: ProcessEnded) -> dict[str, object]:
    stopped = event.expected and event.status < 0
    return {
        "status": "stopped by the run" if stopped else str(event.status),
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
            reason="Not available: no process ran for 2 s.",
        )
    table = cores.select("time_s", process="of", cores="value")
    alive = while_alive(history, table, by="process")
    chart, says = lines(history, alive, by="process", value="cores", unit="cores")
    machine = f"This machine has {plan.machine.cores} cores. " if plan else ""
    under_load = table.filter(pl.col("time_s") >= 0)
    together = under_load.group_by("time_s").agg(pl.col("cores").sum())["cores"]
    total = max(together.to_list(), default=0.0)
    caption = (
        f"CPU seconds per second, by process; 1 is one core. {machine}"
        f"The processes of this run used {total:.2g} cores at most under load; "
        f"what else ran on the machine is only in its pressure, under Fidelity. {says}"
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
    alive = while_alive(history, table, by="process")
    chart, says = lines(history, alive, by="process", value="mib", unit="MiB", keep="max")
    caption = f"Resident memory of each process and its children. {says}"
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)
