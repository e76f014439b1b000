"""The timeline: phases, faults and the lives of processes as bars; deaths and notes as marks."""

from __future__ import annotations

import altair as alt
import polars as pl

from streambed.record.events import (
    DrainIncomplete,
    Event,
    HealFailed,
    InjectFailed,
    Note,
    Phase,
    ProcessEnded,
    Reroute,
    TableDamaged,
)
from streambed.record.history import History
from streambed.reports.figure import (
    Absent,
    Chart,
    Figure,
    end_s,
    faults,
    over_faults,
    rows,
    shown_until_s,
    time_axis,
)
from streambed.reports.figures import processes
from streambed.wording import waits_text

SPANS = {
    "row": pl.String,
    "kind": pl.String,
    "from_s": pl.Float64,
    "to_s": pl.Float64,
    "says": pl.String,
}
KINDS = ["phase", "fault", "process"]
MARKS = {
    "died": "cross",
    "inject failed": "triangle-down",
    "heal failed": "triangle-up",
    "note": "diamond",
    "reroute": "circle",
}
ROWS = 60
"""Most rows drawn."""


def spans(history: History) -> pl.DataFrame:
    """What lasted: one row for each phase, fault and life of a process."""
    end = end_s(history)
    bars = _phase_bars(history, end)
    for fault in faults(history).iter_rows(named=True):
        row = f"{fault['fault']} {fault['what']}"
        says = fault["what"] if fault["healed"] else f"{fault['what']}, never healed"
        bars.append((row, "fault", fault["from_s"], fault["to_s"], says))
    for life in processes.lives(history).iter_rows(named=True):
        to = end if life["end_s"] is None else life["end_s"]
        says = f"on {life['node']}, status {life['status'] or 'not recorded'}"
        bars.append((life["process"], "process", life["start_s"], to, says))
    return pl.DataFrame(bars, schema=SPANS, orient="row")


def _phase_bars(history: History, end: float) -> list[tuple[str, str, float, float, str]]:
    """A bar for each phase, until the next one begins; the last until the end of the run."""
    phases = history.of(Phase)
    starts = [history.load_seconds(event.time) for event in phases]
    ends = [*starts, end][1:]
    bars = []
    for event, start, to in zip(phases, starts, ends, strict=True):
        bars.append((f"phase {event.phase}", "phase", start, to, ""))
    return bars


def moments(history: History) -> pl.DataFrame:
    """What has no duration: unexpected deaths, failed faults, changed routes, notes."""
    marks = []
    for event in history.events:
        if moment := _moment(event):
            row, kind, says = moment
            at = history.load_seconds(event.time)
            marks.append((row, kind, at, at, says))
    return pl.DataFrame(marks, schema=SPANS, orient="row")


def _moment(event: Event) -> tuple[str, str, str] | None:
    """The row, kind and text of an event that is drawn as a mark; None for all others."""
    if isinstance(event, ProcessEnded) and not event.expected:
        return event.process, "died", f"{event.process} ended with status {event.status}"
    if isinstance(event, InjectFailed):
        return "notes", "inject failed", f"{event.kind} {event.target}: {event.reason}"
    if isinstance(event, HealFailed):
        return "notes", "heal failed", f"{event.kind} {event.target}: {event.reason}"
    if isinstance(event, Reroute):
        without, nodes = ", ".join(event.without) or "none", ", ".join(event.nodes) or "no node"
        return "routes", "reroute", f"without {without}: other routes at {nodes}"
    if isinstance(event, DrainIncomplete):
        return "notes", "note", f"drain incomplete: {waits_text(event.waits)}"
    if isinstance(event, TableDamaged):
        return "notes", "note", f"{event.file} is damaged: {event.reason}"
    if isinstance(event, Note):
        return "notes", "note", event.says
    return None


def timeline(history: History) -> Figure | Absent:
    """Everything that happened, on one axis."""
    name, title = "timeline", "What happened when"
    bars, marks = spans(history), moments(history)
    if bars.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="Nothing happened: the run recorded no phase, fault or process.",
        )
    table = pl.concat([bars, marks])
    # What ended before the load is outside the axis; what never began to show is left out, too.
    visible = table.filter((pl.col("to_s") > 0) & (pl.col("from_s") < shown_until_s(history)))
    order = visible["row"].unique(maintain_order=True).to_list()
    shown = [row for row in order if row != "notes"][:ROWS]
    if "notes" in order:
        shown.append("notes")
    left_out = ""
    if len(shown) < len(order):
        left_out = f" Drawn are the first {ROWS} rows of {len(order)}; the table has all."
    caption = (
        "Bars: from start to end. ✕ crash, ▲ fault not healed, ▼ fault not injected, ◆ note, "
        f"● routes changed. The start-up, before 0 s, is in the table.{left_out}"
    )
    chart = _chart(history, bars, marks, shown)
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


def _chart(history: History, bars: pl.DataFrame, marks: pl.DataFrame, shown: list[str]) -> Chart:
    drawn = pl.col("row").is_in(shown)
    at = time_axis(history, "from_s"), _row_axis(shown)
    tooltip = _tooltip()
    kind = alt.Color("kind:N", scale=alt.Scale(domain=KINDS), legend=None)
    shapes = alt.Scale(domain=list(MARKS), range=list(MARKS.values()))
    bar = alt.Chart(rows(bars.filter(drawn))).mark_bar(height=9, cornerRadius=2, clip=True)
    bar = bar.encode(*at, kind, alt.X2("to_s:Q"), tooltip=tooltip)
    mark = alt.Chart(rows(marks.filter(drawn)))
    mark = mark.mark_point(size=140, filled=True, style="moment", clip=True)
    mark = mark.encode(*at, alt.Shape("kind:N", scale=shapes, legend=None), tooltip=tooltip)
    return over_faults(history, bar.properties(height=18 * len(shown)), mark, named=False)


def _tooltip() -> list[alt.Tooltip]:
    texts = [alt.Tooltip(f"{column}:N") for column in ("kind", "row", "says")]
    times = [alt.Tooltip(f"{column}:Q", format=".2f") for column in ("from_s", "to_s")]
    return [*texts, *times]


def _row_axis(order: list[str]) -> alt.Y:
    axis = alt.Axis(grid=True, ticks=False, domain=False, labelLimit=170)
    return alt.Y("row:N", sort=None, title=None, scale=alt.Scale(domain=order), axis=axis)
