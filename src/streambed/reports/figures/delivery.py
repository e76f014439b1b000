"""The delivery heat map: what became of every record for every reader, over the time at which
records were due.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from streambed.kinds.checks.no_loss import acked_records, finding_of
from streambed.kinds.evidence.readers import IDENTITY, Reader, readers_of, times_seen
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import Absent, Chart, Figure, edges, rows, shaded, time_axis

STATES = ("delivered", "duplicated", "unacked", "undecided", "lost")
"""From good to bad: a column takes the worst state of its records."""
WORST_FIRST = [*reversed(STATES)]
COLUMNS = 300
"""So many columns a row has at most."""
PRODUCERS = 5
"""So many producers are drawn at most, and so many readers of each."""
READERS = 12
ROW_PX = 13
ROW = ["topic", "producer", "reader"]


def fates(history: History, topic: str, reader: Reader) -> pl.DataFrame:
    """What became of each record of a topic for one reader: producer, sequence, due, state; as the
    check no_loss sees it.
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


def binned(history: History) -> tuple[pl.DataFrame, float]:
    """How many records of each step of due time came to which state, for each topic, producer and
    reader; and the step in seconds.
    """
    sent = history.ledger.sent
    step = _step_s(sent)
    column = (
        ((pl.col("due") - history.start_ns) / 1e9 / step).floor().cast(pl.Int64).alias("column")
    )
    counts = [(pl.col("state") == state).sum().cast(pl.Int64).alias(state) for state in STATES]
    parts = [
        fates(history, topic, reader)
        .group_by("producer", column)
        .agg(pl.col("state").max(), *counts)
        .sort("producer", "column")
        .select(
            pl.lit(topic).alias("topic"),
            "producer",
            pl.lit(reader.name).alias("reader"),
            "column",
            "state",
            *STATES,
        )
        for topic in sent["topic"].unique().sort()
        for reader in readers_of(history, topic)
    ]
    table = pl.concat(parts) if parts else pl.DataFrame()
    return table, step


def _step_s(sent: pl.DataFrame) -> float:
    """A step no finer than the records come, so that a slow producer leaves no gaps."""
    span_s = float((sent["due"].max() or 0) - (sent["due"].min() or 0)) / 1e9  # type: ignore[operator, arg-type]
    fewest = int(sent.group_by("producer").len()["len"].min() or 1)  # type: ignore[arg-type]
    return series.step_s(span_s, max(1, min(COLUMNS, fewest) - 1))


def spans(table: pl.DataFrame, step: float) -> pl.DataFrame:
    """Neighbouring columns of one state as one rectangle: few are drawn, and all counts are
    kept.
    """
    begins = (pl.col("state") != pl.col("state").shift()) | (
        pl.col("column") != pl.col("column").shift() + 1
    )
    numbered = table.with_columns(span=begins.fill_null(True).cum_sum().over(ROW))
    found = numbered.group_by(*ROW, "span", maintain_order=True).agg(
        pl.col("state").first(), (pl.col("column").first() * step).alias("from_s"), ((pl.col("column").last() + 1) * step).alias("to_s"),
        *(pl.col(state).sum() for state in STATES),
    )  # fmt: skip
    return found.drop("span").with_columns(pl.col("from_s", "to_s").round(3))


def chosen(table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The producers with the most lost records, then with the most in any other trouble; as many
    readers; and a sentence on the rest.
    """
    producers, readers = _by_trouble(table, "topic", "producer"), _by_trouble(table, "reader")
    said = [
        f"{most} of {found.height} {noun}"
        for found, most, noun in (
            (producers, PRODUCERS, "producers"),
            (readers, READERS, "readers"),
        )
        if found.height > most
    ]
    left_out = (
        f"Drawn are {' and '.join(said)}, those with the most lost or otherwise troubled records; "
        "the table has all."
        if said
        else ""
    )
    drawn = table.filter(pl.col("reader").is_in(readers["reader"].head(READERS).to_list()))
    return producers.head(PRODUCERS).join(
        drawn, on=["topic", "producer"], maintain_order="left_right"
    ), left_out


def _by_trouble(table: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Whoever has most of the worst comes first; among equals the order stays."""
    worst = WORST_FIRST[:-1]
    totals = table.group_by(*names, maintain_order=True).agg(pl.col(worst).sum())
    return totals.sort(worst, descending=True, maintain_order=True).select(names)


def heat_map(history: History) -> Figure | Absent:
    """Every record for every reader: delivered, lost, duplicated or unacked."""
    name, title = "delivery", "Delivery"
    if history.ledger.sent.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="No producer sent a record, so there is nothing to deliver.",
        )
    found, step = binned(history)
    if found.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="Nobody reads the topics that producers wrote, so nothing was to be delivered.",
        )
    shown, left_out = chosen(found)
    caption = (
        f"Each row is a reader. Records stand where they were due, in steps of {step:g} s; a step "
        "has the colour of its worst record. "
        "Lost: acknowledged, but this reader never saw it. Undecided: older than what the reader "
        "began with, or the run ended too early to "
        f"tell. Unacked: its producer got no acknowledgement, whoever saw it. {left_out}"
    )
    chart, totals = (
        _chart(history, spans(shown, step)),
        found.group_by("topic", "reader", maintain_order=True).agg(pl.col(STATES).sum()),
    )
    return Figure(
        name=name,
        title=title,
        caption=caption,
        chart=chart,
        table=_timed(found, step),
        summary=totals,
    )


def _timed(table: pl.DataFrame, step: float) -> pl.DataFrame:
    from_s, to_s = (((pl.col("column") + more) * step).round(3) for more in (0, 1))
    return table.select(*ROW, from_s.alias("from_s"), to_s.alias("to_s"), "state", *STATES)


def _chart(history: History, table: pl.DataFrame) -> Chart:
    """Rows of one producer stand together beneath a line that names it. The topmost row is left
    free for the names of the faults.
    """
    keyed = table.with_columns(
        head=pl.format("{}\t{}\t", "topic", "producer"), row=pl.format("{}\t{}\t{}", *ROW)
    )
    heads = keyed.group_by("topic", "producer", "head", maintain_order=True).agg(
        pl.col("row").unique(maintain_order=True), pl.col("from_s").min()
    )
    order = [
        "",
        *(row for head, below in heads.select("head", "row").iter_rows() for row in (head, *below)),
    ]
    axis = alt.Axis(
        labelExpr="split(datum.value, '\\t')[2] || ''",
        ticks=False,
        domain=False,
        grid=False,
        labelLimit=170,
    )
    scale = alt.Scale(domain=order, paddingInner=0.12, paddingOuter=0)
    at = time_axis(history, "from_s"), alt.Y("row:N", sort=None, title=None, scale=scale, axis=axis)
    colour = alt.Color(
        "state:N",
        scale=alt.Scale(domain=WORST_FIRST, range="heatmap"),
        legend=alt.Legend(symbolType="square", columns=len(STATES)),
    )
    tooltip = [
        *(alt.Tooltip(f"{name}:N") for name in ROW),
        alt.Tooltip("from_s:Q", format=".1f"),
        alt.Tooltip("to_s:Q", format=".1f"),
    ]
    counts = [alt.Tooltip(f"{state}:Q") for state in WORST_FIRST]
    cell = alt.Chart(rows(keyed.drop("head"))).mark_rect(clip=True)
    name = alt.Chart(
        rows(heads.select("from_s", row="head", says=pl.format("{} → {}", "producer", "topic")))
    )
    return shaded(
        history,
        cell.encode(*at, colour, alt.X2("to_s:Q"), tooltip=[*tooltip, *counts]).properties(
            height=ROW_PX * len(order)
        ),
        name.mark_text(style="soft", align="left", baseline="middle", fontWeight="bold").encode(
            *at, alt.Text("says:N")
        ),
        *edges(history),
    )
