"""Figures of latency: from the moment a record was due to the moment it was seen, counted even
while nothing moved.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from streambed.kinds.evidence.readers import IDENTITY
from streambed.plan import WITNESS
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import Absent, Figure, end_s, lines, rows

RECORD = ["producer", "sequence", "topic"]
PERCENTILES = {
    "p50 s": 0.5,
    "p90 s": 0.9,
    "p95 s": 0.95,
    "p99 s": 0.99,
    "p99.9 s": 0.999,
    "max s": 1.0,
}
"""Between two values the higher one, which never flatters; the checks count in the same way."""
SHARES = (*(share / 200 for share in range(200)), 0.999, 1.0)


def end_to_end(history: History) -> pl.DataFrame:
    """One row for each record that a consumer or a Spark query gave on: to (whom), due_s,
    latency_s; a repeated record counts once.
    """
    sent = history.ledger.sent.select(*IDENTITY, "due")
    seen = history.ledger.seen.filter(pl.col("consumer") != WITNESS)
    first = seen.group_by("consumer", *IDENTITY).agg(pl.col("seen").min())
    direct = first.join(sent, on=IDENTITY).select(to="consumer", due="due", seen="seen")
    jobs = [
        component.as_engine.journeys(history)
        .drop_nulls("seen")
        .select(pl.lit(f"through {name}").alias("to"), pl.col("due", "seen").cast(pl.Int64))
        for name, component in history.components.items()
        if component.as_engine
    ]
    return _latencies(history, pl.concat([direct, *jobs]))


def synchronised(history: History) -> pl.DataFrame:
    """One row for each record that all subscribers of its topic have: to (the topic), due_s,
    latency_s of the slowest subscriber.
    """
    first = (
        _seen_by_groups(history)
        .group_by(*RECORD, "due")
        .agg(pl.len().alias("groups"), pl.col("seen").max())
    )
    wanted = {topic: len(groups) for topic, groups in subscribers(history).items()}
    complete = first.filter(
        pl.col("groups")
        == pl.col("topic").replace_strict(wanted, default=0, return_dtype=pl.UInt32)
    )
    return _latencies(history, complete.select(to="topic", due="due", seen="seen"))


def subscribers(history: History) -> dict[str, set[str]]:
    """The consumer groups of each topic: those declared, and those that read it."""
    found: dict[str, set[str]] = {}
    seen = history.ledger.seen.filter(pl.col("consumer") != WITNESS)
    for topic, group in seen.select("topic", "group").unique().iter_rows():
        found.setdefault(topic, set()).add(group)
    group_of = dict(seen.select("consumer", "group").unique().iter_rows())
    for name, component in history.components.items():
        for reader in component.readers:
            for topic in reader.topics if reader.group else ():
                found.setdefault(topic, set()).add(group_of.get(name, reader.name))
    return found


def _seen_by_groups(history: History) -> pl.DataFrame:
    seen = history.ledger.seen.filter(pl.col("consumer") != WITNESS)
    first = seen.group_by("group", *RECORD).agg(pl.col("seen").min())
    return first.join(history.ledger.sent.select(*RECORD, "due"), on=RECORD)


def _latencies(history: History, found: pl.DataFrame) -> pl.DataFrame:
    return found.select(
        "to",
        due_s=(pl.col("due") - history.start_ns) / 1e9,
        latency_s=(pl.col("seen") - pl.col("due")) / 1e9,
    ).sort("to", "due_s")


def percentiles(found: pl.DataFrame) -> pl.DataFrame:
    """A row for each `to`: how many records, and the usual percentiles of their latency."""
    columns = [
        pl.col("latency_s").quantile(share, "higher").alias(name)
        for name, share in PERCENTILES.items()
    ]
    return found.group_by("to").agg(pl.len().alias("records"), *columns).sort("to")


def _statistics(history: History, found: pl.DataFrame) -> tuple[pl.DataFrame, float]:
    """Median and 99th percentile of equal steps of due time, as lines to draw."""
    step = max(1.0, series.step_s(end_s(history)))
    middle = ((pl.col("due_s") / step).floor() + 0.5) * step
    steps = found.group_by("to", middle.alias("time_s")).agg(
        pl.col("latency_s").quantile(0.5, "higher").alias("p50"),
        pl.col("latency_s").quantile(0.99, "higher").alias("p99"),
    )
    long = steps.unpivot(index=["to", "time_s"], variable_name="statistic", value_name="latency_s")
    named = long.select(
        "time_s", "to", "statistic", "latency_s", series=pl.format("{} {}", "to", "statistic")
    )
    return named.sort("series", "time_s"), step


def over_time(history: History) -> Figure | Absent:
    """End-to-end latency over the time at which records were due."""
    name, title = "latency", "End-to-end latency"
    found = end_to_end(history)
    if found.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="No consumer saw a record that a producer of this run had sent.",
        )
    table, step = _statistics(history, found)
    chart, says = lines(
        history, table, by="series", value="latency_s", unit="latency in s", keep="max"
    )
    caption = f"From due to first seen, at the time records were due; median and 99th percentile of every {step:g} s. {says}"
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


def distribution(history: History) -> Figure | Absent:
    """Which share of the records had at most which latency."""
    name, title = "latency_distribution", "Distribution of end-to-end latency"
    found = end_to_end(history)
    if found.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="There is no latency to distribute: no consumer saw a record of this run.",
        )
    quantiles = [
        pl.col("latency_s").quantile(share, "higher").alias(str(share)) for share in SHARES
    ]
    wide = found.group_by("to").agg(*quantiles)
    table = (
        wide.unpivot(index="to", variable_name="share", value_name="latency_s")
        .with_columns(pl.col("share").cast(pl.Float64))
        .sort("to", "share")
    )
    scale = alt.Scale(type="log" if float(found["latency_s"].min()) > 0 else "linear", nice=False)  # type: ignore[arg-type]
    chart = (
        alt.Chart(rows(table.with_columns(pl.col("latency_s").round_sig_figs(5))))
        .mark_line(interpolate="step-before", point=alt.OverlayMarkDef(opacity=0, size=60))
        .encode(
            alt.X(
                "latency_s:Q",
                title="latency in s",
                scale=scale,
                axis=alt.Axis(format="~r", labelOverlap=True),
            ),
            alt.Y(
                "share:Q",
                title="share of records",
                axis=alt.Axis(format="%", minExtent=44),
                scale=alt.Scale(domain=[0, 1]),
            ),
            alt.Color("to:N", legend=alt.Legend(symbolType="stroke")),
            tooltip=[
                alt.Tooltip("to:N"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("latency_s:Q", format=".4~r"),
            ],
        )
        .properties(height=240)
    )
    caption = "The share of records that were seen within a latency. Records that were never seen are not in it: the verdicts count them."
    return Figure(
        name=name,
        title=title,
        caption=caption,
        chart=chart,
        table=table,
        summary=percentiles(found),
    )


def synchronisation(history: History) -> Figure | Absent:
    """How long it took until every subscriber of a topic had a record."""
    name, title = "synchronisation", "Data synchronisation latency"
    found = synchronised(history)
    if found.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="No record reached all subscribers of its topic, or no topic has a subscriber.",
        )
    table, step = _statistics(history, found)
    chart, says = lines(
        history, table, by="series", value="latency_s", unit="latency in s", keep="max"
    )
    topics = "; ".join(
        f"{topic}: {', '.join(sorted(groups))}"
        for topic, groups in sorted(subscribers(history).items())
    )
    partial = _seen_by_groups(history).select(RECORD).unique().height - found.height
    caption = (
        "From due until all subscribers have the record, by topic; median and 99th percentile of "
        f"every {step:g} s. "
        f"Subscribers are {topics}. "
        f"Records that some subscriber saw and another did not: {partial}. {says}"
    )
    return Figure(
        name=name,
        title=title,
        caption=caption,
        chart=chart,
        table=table,
        summary=percentiles(found),
    )
