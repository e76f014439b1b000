"""The delivery heat map: the fate of every record for every reader, over the time it was due."""

from __future__ import annotations

import altair as alt
import polars as pl

from streambed.kinds.checks.no_loss import acked_records, finding_of
from streambed.kinds.evidence.readers import IDENTITY, Reader, readers_of, times_seen
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import (
    FAULT_ROWS,
    Absent,
    Chart,
    Figure,
    edges,
    faults,
    over_faults,
    rows,
    time_axis,
)

STATES = ("delivered", "duplicated", "unacked", "undecided", "lost")
"""From good to bad: a column takes the worst state of its records."""
WORST_FIRST = [*reversed(STATES)]
COLUMNS = 300
"""Most columns in a row."""
PRODUCERS = 5
"""Most producers drawn."""
READERS = 12
"""Most readers drawn."""
ROW_PX = 13
ROW = ["topic", "producer", "reader"]


def fates(history: History, topic: str, reader: Reader) -> pl.DataFrame:
    """The state of each record of a topic for one reader: producer, sequence, due, state.

    States agree with the check no_loss.
    """
    sent = history.ledger.sent.filter(pl.col("topic") == topic).select(
        *IDENTITY, "due", unacked=pl.col("acked").is_null()
    )
    acked = acked_records(history, topic)
    lost = finding_of(history, reader, topic, acked).lost.select(*IDENTITY, lost=True)
    times = acked.select(IDENTITY).with_columns(
        times=times_seen(history, reader, topic, acked).times
    )
    known = sent.join(times, on=IDENTITY, how="left").join(lost, on=IDENTITY, how="left")
    state = (
        pl.when("unacked").then(pl.lit("unacked"))
        .when("lost").then(pl.lit("lost"))
        .when(pl.col("times") > 1).then(pl.lit("duplicated"))
        .when(pl.col("times") == 1).then(pl.lit("delivered"))
        .otherwise(pl.lit("undecided"))
    )  # fmt: skip
    return known.select(*IDENTITY, "due", state=state.cast(pl.Enum(STATES)))


def records_by_step(history: History) -> tuple[pl.DataFrame, float]:
    """Records by state per step of due time, topic, producer and reader; and the step in s."""
    sent = history.ledger.sent
    step = _step_s(sent)
    column = ((pl.col("due") - history.zero_ns) / 1e9 / step).floor().cast(pl.Int64).alias("column")
    counts = [(pl.col("state") == state).sum().cast(pl.Int64).alias(state) for state in STATES]
    parts = []
    for topic in sent["topic"].unique().sort():
        for reader in readers_of(history, topic):
            columns = (
                fates(history, topic, reader)
                .group_by("producer", column)
                .agg(pl.col("state").max(), *counts)
                .sort("producer", "column")
            )
            names = {"topic": pl.lit(topic), "reader": pl.lit(reader.name)}
            parts.append(columns.with_columns(**names).select(*ROW, "column", "state", *STATES))
    table = pl.concat(parts) if parts else pl.DataFrame()
    return table, step


def _step_s(sent: pl.DataFrame) -> float:
    """A step no finer than the records come, so that a slow producer leaves no gaps."""
    span_s = float((sent["due"].max() or 0) - (sent["due"].min() or 0)) / 1e9  # type: ignore[operator, arg-type]
    fewest = int(sent.group_by("producer").len()["len"].min() or 1)  # type: ignore[arg-type]
    return series.step_s(span_s, max(1, min(COLUMNS, fewest) - 1))


def spans(table: pl.DataFrame, step: float) -> pl.DataFrame:
    """Merge neighbouring columns of one state into one rectangle, adding up their counts."""
    begins = (pl.col("state") != pl.col("state").shift()) | (
        pl.col("column") != pl.col("column").shift() + 1
    )
    numbered = table.with_columns(span=begins.fill_null(True).cum_sum().over(ROW))
    merged = numbered.group_by(*ROW, "span", maintain_order=True).agg(
        pl.col("state").first(),
        (pl.col("column").first() * step).alias("from_s"),
        ((pl.col("column").last() + 1) * step).alias("to_s"),
        *(pl.col(state).sum() for state in STATES),
    )
    return merged.drop("span").with_columns(pl.col("from_s", "to_s").round(3))


def rows_to_draw(table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The rows to draw, those with the worst states first, and a sentence on what is left out."""
    producers, readers = _by_trouble(table, "topic", "producer"), _by_trouble(table, "reader")
    drawn_readers = readers["reader"].head(READERS).to_list()
    drawn = producers.head(PRODUCERS).join(
        table.filter(pl.col("reader").is_in(drawn_readers)),
        on=["topic", "producer"],
        maintain_order="left_right",
    )
    return drawn, _left_out(producers=producers.height, readers=readers.height)


def _left_out(*, producers: int, readers: int) -> str:
    limited = []
    if producers > PRODUCERS:
        limited.append(f"{PRODUCERS} of {producers} producers")
    if readers > READERS:
        limited.append(f"{READERS} of {readers} readers")
    if not limited:
        return ""
    return (
        f"Drawn are {' and '.join(limited)}, those with the most lost or otherwise troubled "
        "records; the table has all."
    )


def _by_trouble(table: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Those with the most lost records first, then by the next worst state; the sort is stable."""
    worst = WORST_FIRST[:-1]
    totals = table.group_by(*names, maintain_order=True).agg(pl.col(worst).sum())
    return totals.sort(worst, descending=True, maintain_order=True).select(names)


def heat_map(history: History) -> Figure | Absent:
    """Whether each record was delivered, lost, duplicated or unacked, for every reader."""
    name, title = "delivery", "Delivery"
    if history.ledger.sent.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="No producer sent a record, so there is nothing to deliver.",
        )
    counts, step = records_by_step(history)
    if counts.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="No component reads the topics that producers wrote.",
        )
    shown, left_out = rows_to_draw(counts)
    caption = (
        f"Each row is a reader. Records are drawn at their due times, in steps of {step:g} s; "
        "a step has the colour of its worst record. "
        "Lost: acknowledged, but this reader never saw it. "
        "Undecided: older than what the reader began with, or the run ended too early to tell. "
        f"Unacked: its producer got no acknowledgement, whether or not it was seen. {left_out}"
    )
    totals = counts.group_by("topic", "reader", maintain_order=True).agg(pl.col(STATES).sum())
    return Figure(
        name=name,
        title=title,
        caption=caption,
        chart=_chart(history, spans(shown, step)),
        table=_with_times(counts, step),
        summary=totals,
    )


def _with_times(table: pl.DataFrame, step: float) -> pl.DataFrame:
    from_s, to_s = (((pl.col("column") + more) * step).round(3) for more in (0, 1))
    return table.select(*ROW, from_s.alias("from_s"), to_s.alias("to_s"), "state", *STATES)


def _chart(history: History, table: pl.DataFrame) -> Chart:
    """Rows of one producer are grouped beneath its name; the topmost rows are for fault names."""
    keyed = table.with_columns(
        head=pl.format("{}\t{}\t", "topic", "producer"), row=pl.format("{}\t{}\t{}", *ROW)
    )
    heads = keyed.group_by("topic", "producer", "head", maintain_order=True).agg(
        pl.col("row").unique(maintain_order=True), pl.col("from_s").min()
    )
    free_rows = min(FAULT_ROWS, max(1, faults(history).height))
    order = [" " * row for row in range(1, 1 + free_rows)]
    for head, readers in heads.select("head", "row").iter_rows():
        order += [head, *readers]
    at = time_axis(history, "from_s"), _row_axis(order)
    grid = cells(keyed.drop("head"), at).properties(height=ROW_PX * len(order))
    producers = heads.select("from_s", row="head", says=pl.format("{} → {}", "producer", "topic"))
    names = _producer_names(producers, at)
    return over_faults(history, grid, names, *edges(history), _highlight(history))


def _producer_names(producers: pl.DataFrame, at: tuple[alt.X, alt.Y]) -> alt.Chart:
    text = alt.Chart(rows(producers)).mark_text(
        style="soft", align="left", baseline="middle", fontWeight="bold"
    )
    names: alt.Chart = text.encode(*at, alt.Text("says:N"))
    return names


def _highlight(history: History) -> alt.Chart:
    """A band that the page's script moves to lost records, by the signals shown_from, shown_to."""
    start, end = (alt.param(name=name, value=-1e9) for name in ("shown_from", "shown_to"))
    nothing = alt.Data(values=[{}])  # type: ignore[no-untyped-call]
    band: alt.Chart = (
        alt.Chart(nothing)
        .transform_calculate(from_s="shown_from - 0.1", to_s="shown_to + 0.1")
        .mark_rect(style="shown", clip=True)
        .encode(time_axis(history, "from_s"), alt.X2("to_s:Q"))
        .add_params(start, end)
    )
    return band


def _row_axis(order: list[str]) -> alt.Y:
    """Rows are keyed by topic, producer and reader, separated by tabs; only readers are named."""
    axis = alt.Axis(
        labelExpr="split(datum.value, '\\t')[2] || ''",
        ticks=False,
        domain=False,
        grid=False,
        labelLimit=170,
    )
    scale = alt.Scale(domain=order, paddingInner=0.12, paddingOuter=0)
    return alt.Y("row:N", sort=None, title=None, scale=scale, axis=axis)


def cells(table: pl.DataFrame, at: tuple[alt.X, alt.Y]) -> alt.Chart:
    """Rectangles in the colour of their worst record."""
    colour = alt.Color(
        "state:N",
        scale=alt.Scale(domain=WORST_FIRST, range="heatmap"),
        legend=alt.Legend(symbolType="square"),
    )
    tooltip = [
        *(alt.Tooltip(f"{name}:N") for name in ROW),
        alt.Tooltip("from_s:Q", format=".1f"),
        alt.Tooltip("to_s:Q", format=".1f"),
        *(alt.Tooltip(f"{state}:Q") for state in WORST_FIRST),
    ]
    cell = alt.Chart(rows(table)).mark_rect(clip=True)
    drawn: alt.Chart = cell.encode(*at, colour, alt.X2("to_s:Q"), tooltip=tooltip)
    return drawn
