"""Figures of latency, from the time a record was due to the time it was first seen.

Measuring from the due time keeps stalls visible: a record that a stalled producer sends late
counts as late.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from streambed.kinds.evidence.course import by_reader
from streambed.kinds.evidence.journeys import journeys
from streambed.kinds.evidence.readers import IDENTITY
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import Absent, Chart, Figure, end_s, lines, rows

RECORD = ["producer", "sequence", "topic"]
PERCENTILES = {
    "p50 s": 0.5,
    "p90 s": 0.9,
    "p95 s": 0.95,
    "p99 s": 0.99,
    "p99.9 s": 0.999,
    "max s": 1.0,
}
"""Between two values the higher one is taken, as the checks do."""
SHARES = (*(share / 200 for share in range(200)), 0.999, 1.0)
"""The quantiles that a cumulative distribution is drawn from."""
SHARE_TOOLTIP = (
    alt.Tooltip("to:N"),
    alt.Tooltip("share:Q", format=".1%"),
    alt.Tooltip("latency_s:Q", format=".4~r"),
)


def end_to_end(history: History) -> pl.DataFrame:
    """One row per record and reader: to (the reader), due_s, latency_s.

    Readers are consumers and Spark queries. A duplicate counts once, when it was first seen.
    """
    sent = history.ledger.sent.select(*IDENTITY, "due")
    seen = history.ledger.seen.filter(by_reader())
    first = seen.group_by("consumer", *IDENTITY).agg(pl.col("seen").min())
    direct = first.join(sent, on=IDENTITY).select(to="consumer", due="due", seen="seen")
    tables = [direct]
    for name, component in history.components.items():
        if component.as_engine:
            to = pl.lit(f"through {name}").alias("to")
            last_seen = pl.coalesce("seen", "latest").alias("seen")
            made = journeys(history, name).select(to, "due", last_seen)
            tables.append(made.drop_nulls("seen"))
    return _latencies(history, pl.concat(tables))


def records_all_saw(history: History) -> pl.DataFrame:
    """One row per record that all subscribers of its topic saw: to (the topic), due_s, latency_s.

    The latency is that of the slowest subscriber.
    """
    last_seen = (
        _seen_by_groups(history)
        .group_by(*RECORD, "due")
        .agg(pl.len().alias("groups"), pl.col("seen").max())
    )
    counts = {topic: len(groups) for topic, groups in subscribers(history).items()}
    expected = pl.col("topic").replace_strict(counts, default=0, return_dtype=pl.UInt32)
    complete = last_seen.filter(pl.col("groups") == expected)
    return _latencies(history, complete.select(to="topic", due="due", seen="seen"))


def subscribers(history: History) -> dict[str, set[str]]:
    """The consumer groups of each topic: those declared, and those that read it."""
    groups: dict[str, set[str]] = {}
    seen = history.ledger.seen.filter(by_reader())
    for topic, group in seen.select("topic", "group").unique().iter_rows():
        groups.setdefault(topic, set()).add(group)
    group_of = dict(seen.select("consumer", "group").unique().iter_rows())
    for name, component in history.components.items():
        for reader in component.readers:
            if reader.group:
                for topic in reader.topics:
                    groups.setdefault(topic, set()).add(group_of.get(name, reader.name))
    return groups


def _seen_by_groups(history: History) -> pl.DataFrame:
    seen = history.ledger.seen.filter(by_reader())
    first = seen.group_by("group", *RECORD).agg(pl.col("seen").min())
    return first.join(history.ledger.sent.select(*RECORD, "due"), on=RECORD)


def _latencies(history: History, times: pl.DataFrame) -> pl.DataFrame:
    return times.select(
        "to",
        due_s=(pl.col("due") - history.zero_ns) / 1e9,
        latency_s=(pl.col("seen") - pl.col("due")) / 1e9,
    ).sort("to", "due_s")


def percentiles(latencies: pl.DataFrame) -> pl.DataFrame:
    """One row per `to`: the number of records and the usual percentiles of their latency."""
    columns = [
        pl.col("latency_s").quantile(share, "higher").alias(name)
        for name, share in PERCENTILES.items()
    ]
    return latencies.group_by("to").agg(pl.len().alias("records"), *columns).sort("to")


def _statistics(history: History, latencies: pl.DataFrame) -> tuple[pl.DataFrame, float]:
    """Median and 99th percentile per step of due time, as lines to draw; and the step in s."""
    step = max(1.0, series.step_s(end_s(history)))
    middle = ((pl.col("due_s") / step).floor() + 0.5) * step
    steps = latencies.group_by("to", middle.alias("time_s")).agg(
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
    latencies = end_to_end(history)
    if latencies.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="No consumer saw a record that a producer of this run had sent.",
        )
    table, step = _statistics(history, latencies)
    chart, says = lines(
        history, table, by="series", value="latency_s", unit="latency in s", keep="max"
    )
    caption = (
        "From due to first seen, at the time records were due; "
        f"median and 99th percentile of every {step:g} s. {says}"
    )
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


def cumulative_shares(latencies: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """The cumulative distribution for each `by`, as rows of share and latency_s."""
    quantiles = [
        pl.col("latency_s").quantile(share, "higher").alias(str(share)) for share in SHARES
    ]
    wide = latencies.group_by(by).agg(*quantiles)
    long = wide.unpivot(index=by, variable_name="share", value_name="latency_s")
    return long.with_columns(pl.col("share").cast(pl.Float64)).sort(*by, "share")


def latency_axis(latencies_s: pl.Series) -> alt.X:
    """A logarithmic axis, unless some latency is not positive."""
    positive = latencies_s.cast(pl.Float64).le(0).sum() == 0
    return alt.X(
        "latency_s:Q",
        title="latency in s",
        scale=alt.Scale(type="log" if positive else "linear", nice=False),
        axis=alt.Axis(format="~r", labelOverlap=True),
    )


def share_axis() -> alt.Y:
    """Shares of records from 0 to 100 %."""
    return alt.Y(
        "share:Q",
        title="share of records",
        axis=alt.Axis(format="%", minExtent=44),
        scale=alt.Scale(domain=[0, 1]),
    )


def distribution(history: History) -> Figure | Absent:
    """The cumulative distribution of latency, one line per reader."""
    name, title = "latency_distribution", "Distribution of end-to-end latency"
    latencies = end_to_end(history)
    if latencies.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="There is no latency to distribute: no consumer saw a record of this run.",
        )
    table = cumulative_shares(latencies, by=["to"])
    caption = (
        "The share of records that were seen within a latency. "
        "Records that were never seen are not in it: the verdicts count them."
    )
    return Figure(
        name=name,
        title=title,
        caption=caption,
        chart=_distribution_chart(table, latencies["latency_s"]),
        table=table,
        summary=percentiles(latencies),
    )


def _distribution_chart(shares: pl.DataFrame, latencies_s: pl.Series) -> Chart:
    drawn = shares.with_columns(pl.col("latency_s").round_sig_figs(5))
    # Invisible points carry the tooltips.
    points = alt.OverlayMarkDef(opacity=0, size=60)
    line = alt.Chart(rows(drawn)).mark_line(interpolate="step-before", point=points)
    chart: Chart = line.encode(
        latency_axis(latencies_s),
        share_axis(),
        alt.Color("to:N", legend=alt.Legend(symbolType="stroke")),
        tooltip=[*SHARE_TOOLTIP],
    )
    return chart.properties(height=240)


def synchronisation(history: History) -> Figure | Absent:
    """How long it took until every subscriber of a topic had a record."""
    name, title = "synchronisation", "Data synchronisation latency"
    latencies = records_all_saw(history)
    if latencies.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="No record reached all subscribers of its topic, or no topic has a subscriber.",
        )
    if all(len(groups) < 2 for groups in subscribers(history).values()):
        reason = "Every topic has one subscriber, so it is the same as the end-to-end latency."
        return Absent(name=name, title=title, reason=reason)
    table, step = _statistics(history, latencies)
    chart, says = lines(
        history, table, by="series", value="latency_s", unit="latency in s", keep="max"
    )
    topics = "; ".join(
        f"{topic}: {', '.join(sorted(groups))}"
        for topic, groups in sorted(subscribers(history).items())
    )
    partial = _seen_by_groups(history).select(RECORD).unique().height - latencies.height
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
        summary=percentiles(latencies),
        folded=True,
    )
