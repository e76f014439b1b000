"""Figures of Spark's micro-batches: rates, durations by step, lag, event time, state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import altair as alt
import polars as pl

from streambed.kinds.declared_parts import components_of
from streambed.plan import Plan
from streambed.record.events import Batch, ProcessStarted
from streambed.record.history import History
from streambed.reports.figure import Absent, Chart, Figure, lines, over_faults, rows, time_axis

NO_BATCH = "No Spark job finished a micro-batch."
JOBS = 4
"""Most jobs whose durations are drawn."""
STEPS = (
    "latestOffset",
    "getBatch",
    "queryPlanning",
    "walCommit",
    "addBatch",
    "commitBatch",
    "commitOffsets",
    "other",
)
"""The steps of a micro-batch in their order; `other` is the rest of triggerExecution."""
BATCHES = {
    "time_s": pl.Float64,
    "job": pl.String,
    "component": pl.String,
    "batch": pl.Int64,
    "trigger_s": pl.Float64,
    "rows": pl.Float64,
    "input_per_s": pl.Float64,
    "processed_per_s": pl.Float64,
    "event_time_lag_s": pl.Float64,
    "state_rows": pl.Float64,
    "late_rows": pl.Float64,
}


def figures(history: History) -> list[Figure | Absent]:
    """Every figure of Spark, or one line if there was no batch."""
    if not history.of(Batch):
        return [Absent(name="spark", title="Spark", reason=NO_BATCH)]
    return [
        rates(history),
        lag(history),
        *durations(history),
        event_time(history),
        state(history),
    ]


def batches(history: History) -> pl.DataFrame:
    """One row per micro-batch, at its end."""
    events = history.of(Batch)
    queries = {(event.component, event.query) for event in events}
    query_count = Counter(component for component, _ in queries)
    table = [_row(history, event, alone=query_count[event.component] == 1) for event in events]
    return pl.DataFrame(table, schema=BATCHES).sort("job", "time_s")


def _row(history: History, event: Batch, *, alone: bool) -> dict[str, object]:
    behind_s = None
    if event.watermark_ns is not None and event.event_time_max_ns is not None:
        behind_s = (event.event_time_max_ns - event.watermark_ns) / 1e9
    return {
        "time_s": history.load_seconds(event.end),
        "job": event.component if alone else f"{event.component} {event.query}",
        "component": event.component,
        "batch": event.batch,
        "trigger_s": event.durations_ms.get("triggerExecution", 0) / 1e3,
        "rows": float(event.rows),
        "input_per_s": event.input_per_s,
        "processed_per_s": event.processed_per_s,
        "event_time_lag_s": behind_s,
        "state_rows": event.state_rows,
        "late_rows": event.late_rows,
    }


def restarts(history: History) -> pl.DataFrame:
    """When the driver of a job was started again: time_s, component, says."""
    jobs = {event.component for event in history.of(Batch)}
    rows = [
        (history.load_seconds(event.time), event.component, f"{event.component} restarted")
        for event in history.of(ProcessStarted)
        if event.component in jobs and event.incarnation > 1
    ]
    schema = {"time_s": pl.Float64, "component": pl.String, "says": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _breaks(history: History, table: pl.DataFrame, by: str) -> dict[str, list[float]]:
    """The restarts of the job of each series: no line is drawn across one."""
    times: dict[str, list[float]] = {}
    restarted = restarts(history)
    for name, component in table.select(by, "component").unique().iter_rows():
        times[name] = restarted.filter(pl.col("component") == component)["time_s"].to_list()
    return times


def _mark_restarts(history: History, chart: Chart) -> Chart:
    """The chart with a rule where a driver was restarted."""
    table = restarts(history)
    if table.is_empty():
        return chart
    base = alt.Chart(rows(table)).encode(time_axis(history))
    rule = base.mark_rule(style="moment", strokeDash=[2, 2], clip=True)
    text = base.mark_text(style="bar_name", dx=4, clip=True).encode(
        alt.Text("says:N"), y=alt.value(20)
    )
    marked: Chart = chart + rule + text
    return marked


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
    return f"in {hdfs}" if hdfs else "on the driver's disk (no network traffic)"


def rates(history: History) -> Figure | Absent:
    """Rows that arrived and rows processed per second."""
    name, title = "batch_rates", "Spark: input rate and processing rate"
    wide = batches(history)
    long = wide.unpivot(
        on=["input_per_s", "processed_per_s"],
        index=["time_s", "job", "component", "batch", "rows"],
        value_name="per_s",
    ).drop_nulls("per_s")
    if long.is_empty():
        reason = "This run did not record Spark's rates; its rows are in the events."
        return Absent(name=name, title=title, reason=reason)
    what = pl.col("variable").replace({"input_per_s": "input", "processed_per_s": "processed"})
    table = long.with_columns(series=pl.format("{} {}", "job", what)).drop("variable")
    chart, says = lines(
        history,
        table,
        by="series",
        value="per_s",
        unit="rows/s",
        number="~s",
        breaks=_breaks(history, table, "series"),
    )
    caption = (
        "Spark's inputRowsPerSecond and processedRowsPerSecond, at the end of each batch. "
        f"A job keeps up while it can process more than arrives. {says}"
    )
    return Figure(
        name=name, title=title, caption=caption, chart=_mark_restarts(history, chart), table=table
    )


def lag(history: History) -> Figure | Absent:
    """Acknowledged records that no finished batch has read yet, by job."""
    name, title = "job_lag", "Spark: records behind"
    table = job_lag(history)
    if table.is_empty():
        reason = "No job reads a topic that a streambed producer writes."
        return Absent(name=name, title=title, reason=reason)
    chart, says = lines(
        history,
        table,
        by="job",
        value="records",
        unit="records behind",
        number="~s",
        keep="max",
        counts=True,
    )
    caption = (
        "Acknowledged records of its topics that no finished batch of the job had read yet, "
        f"once a second. {says}"
    )
    return Figure(
        name=name, title=title, caption=caption, chart=_mark_restarts(history, chart), table=table
    )


def job_lag(history: History) -> pl.DataFrame:
    """Records behind, by job and second: time_s, job, records."""
    schema = {"time_s": pl.Float64, "job": pl.String, "records": pl.Float64}
    parts = [pl.DataFrame(schema=schema)]
    for job in dict.fromkeys(event.component for event in history.of(Batch)):
        events = [event for event in history.of(Batch) if event.component == job]
        taken = _taken_records(history, events)
        if taken.is_empty():
            continue
        first, last = taken["acked"].min(), max(event.end for event in events)
        seconds = pl.Series(range(first, last, 1_000_000_000), dtype=pl.Int64)  # type: ignore[arg-type]
        behind = _count_until(taken["acked"], seconds) - _count_until(taken["taken"], seconds)
        columns = {
            "time_s": (seconds - history.zero_ns) / 1e9,
            "job": [job] * len(seconds),
            "records": behind.cast(pl.Float64),
        }
        parts.append(pl.DataFrame(columns, schema=schema))
    return pl.concat(parts)


def _count_until(times: pl.Series, ends: pl.Series) -> pl.Series:
    """For each end, how many times are not after it."""
    ordered = times.drop_nulls().sort()
    return ordered.search_sorted(ends, side="right").cast(pl.Int64)


def _taken_records(history: History, events: Sequence[Batch]) -> pl.DataFrame:
    """Every acked record of the topics of these batches: acked, taken (the end of its batch)."""
    ends = _batch_ends(events)
    of_topics = pl.col("topic").is_in(ends["topic"].unique().to_list())
    in_log = pl.col("acked").is_not_null() & (pl.col("offset") >= 0)
    records = history.ledger.sent.filter(of_topics & in_log)
    records = records.select("topic", pl.col("partition", "offset", "acked").cast(pl.Int64))
    beyond = records.with_columns(end=pl.col("offset") + 1).sort("end")
    joined = beyond.join_asof(
        ends,
        on="end",
        by=["topic", "partition"],
        strategy="forward",
        check_sortedness=False,
    )
    return joined.select("acked", "taken")


def _batch_ends(events: Sequence[Batch]) -> pl.DataFrame:
    """Where batches end in each partition, and when the first of them did: topic, partition, end,
    taken; sorted by end.
    """
    ends = []
    for event in events:
        for topic, partitions in event.offsets.items():
            ends += [(topic, number, end, event.end) for number, (_, end) in partitions.items()]
    schema = {"topic": pl.String, "partition": pl.Int64, "end": pl.Int64, "taken": pl.Int64}
    table = pl.DataFrame(ends, schema=schema, orient="row").sort("end", "taken")
    return table.unique(["topic", "partition", "end"], keep="first", maintain_order=True)


def durations(history: History) -> list[Figure | Absent]:
    """How long each micro-batch took, by step; one figure for each job."""
    table = steps_of(history)
    figures: list[Figure | Absent] = []
    jobs = table["job"].unique(maintain_order=True).to_list()
    caption = "Each bar is a batch, at its end, by step of the trigger."
    if len(jobs) > JOBS:
        caption += f" Only the first {JOBS} of {len(jobs)} jobs."
    for number, job in enumerate(jobs[:JOBS]):
        of_job = table.filter(pl.col("job") == job)
        figure = Figure(
            name="batch_durations" if number == 0 else f"batch_durations_{number + 1}",
            title=f"Spark: duration of batches of {job}",
            caption=caption,
            chart=_mark_restarts(history, _duration_bars(history, of_job)),
            table=of_job,
        )
        figures.append(figure)
    return figures


def steps_of(history: History) -> pl.DataFrame:
    """The time that each batch spent in each step: time_s, job, batch, step, seconds."""
    rows = []
    for event in history.of(Batch):
        steps = dict(event.durations_ms)
        total = steps.pop("triggerExecution", sum(steps.values()))
        shown_ms = {step: steps.get(step, 0.0) for step in STEPS[:-1]}
        shown_ms["other"] = max(0.0, total - sum(shown_ms.values()))
        end_s = history.load_seconds(event.end)
        for step, took_ms in shown_ms.items():
            if took_ms:
                rows.append((end_s, event.component, event.batch, step, took_ms / 1e3))
    schema = {
        "time_s": pl.Float64,
        "job": pl.String,
        "batch": pl.Int64,
        "step": pl.String,
        "seconds": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _duration_bars(history: History, table: pl.DataFrame) -> Chart:
    drawn = table.with_columns(
        pl.col("time_s").round(2),
        order=pl.col("step").replace_strict({step: at for at, step in enumerate(STEPS)}),
    )
    present = [step for step in STEPS if step in set(table["step"])]
    bars = alt.Chart(rows(drawn)).mark_bar(size=7, clip=True)
    drawn_bars = bars.encode(
        time_axis(history),
        alt.Y("seconds:Q", title="seconds", axis=alt.Axis(minExtent=44)),
        alt.Color("step:N", scale=alt.Scale(domain=present)),
        order=alt.Order("order:Q"),
        tooltip=["batch:Q", "step:N", alt.Tooltip("seconds:Q", format=".3~r"), "time_s:Q"],
    )
    return over_faults(history, drawn_bars.properties(height=200))


def event_time(history: History) -> Figure | Absent:
    """How far the watermark is behind the latest event time."""
    name, title = "event_time", "Spark: event time"
    table = batches(history).drop_nulls("event_time_lag_s")
    if table.is_empty():
        return Absent(name=name, title=title, reason="No batch reported a watermark.")
    chart, says = lines(
        history,
        table,
        by="job",
        value="event_time_lag_s",
        unit="s behind",
        breaks=_breaks(history, table, "job"),
    )
    late = table["late_rows"].sum()
    caption = (
        "How far the watermark is behind the latest event time of the batch. "
        f"Rows dropped because they came later than the watermark: {late:,.0f}. {says}"
    )
    return Figure(
        name=name, title=title, caption=caption, chart=_mark_restarts(history, chart), table=table
    )


def state(history: History) -> Figure | Absent:
    """Rows of state, and rows dropped as late."""
    name, title = "state_rows", "Spark: rows of state"
    table = batches(history).drop_nulls("state_rows")
    if table.is_empty():
        return Absent(name=name, title=title, reason="No batch reported rows of state.")
    if table["state_rows"].n_unique() == 1:
        rows_of_state = table["state_rows"][0]
        reason = f"{rows_of_state:,.0f} throughout; rows dropped as late: {_late(table)}."
        return Absent(name=name, title=title, reason=reason)
    chart, says = lines(
        history,
        table,
        by="job",
        value="state_rows",
        unit="rows of state",
        number="~s",
        counts=True,
        breaks=_breaks(history, table, "job"),
    )
    caption = (
        "Rows of state of all operators, at the end of each batch. "
        f"Rows dropped as late: {_late(table)}. {says}"
    )
    return Figure(
        name=name, title=title, caption=caption, chart=_mark_restarts(history, chart), table=table
    )


def _late(table: pl.DataFrame) -> str:
    return f"{table['late_rows'].sum():,.0f}"
