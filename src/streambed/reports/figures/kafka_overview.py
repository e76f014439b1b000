"""A Kafka cluster on one screen: topics, partitions, leaders, replicas in sync, groups and lag."""

from __future__ import annotations

import altair as alt
import polars as pl

from streambed.record.history import History
from streambed.reports.figure import Absent, Chart, Figure, rows
from streambed.results.kafka_state import group_table, partition_table, readable
from streambed.units import count_of

SHOWN_MAX = 60
"""Most partitions in a drawing or a table of the page; the Parquet file has all."""
ROW_PX = 18
NOT_RECORDED = "The state of no Kafka cluster was recorded."
ROLES = ("leader", "in sync", "not in sync")
COLOURS = ("#0072b2", "#9ecae9", "#d55e00")


def partitions(history: History) -> Figure | Absent:
    """Which broker leads and which hold each partition, at the end of the run."""
    name, title = "kafka_partitions", "Topics and partitions"
    table = partition_table(history)
    if table.is_empty():
        return Absent(name=name, title=title, reason=NOT_RECORDED)
    behind = table.filter(pl.col("in_sync").list.len() < pl.col("replicas").list.len()).height
    leaderless = table.filter(pl.col("leader") == "nobody").height
    moved = table.filter(pl.col("leader") != pl.col("first_leader")).height
    caption = (
        "The replicas of each partition after the drain, by broker. "
        f"{count_of(table.height, 'partition')}: {leaderless} without a leader, {behind} "
        f"without all replicas in sync, {moved} led by another broker than at first."
        f"{_left_out(table)}"
    )
    return Figure(
        name=name,
        title=title,
        caption=caption,
        chart=_matrix(table.head(SHOWN_MAX)),
        table=table,
        summary=readable(table.head(SHOWN_MAX)),
    )


def _left_out(table: pl.DataFrame) -> str:
    more = table.height - SHOWN_MAX
    return f" {more} more are in the Parquet file." if more > 0 else ""


def _matrix(table: pl.DataFrame) -> Chart:
    """A dot for each replica: partitions downwards, brokers to the right."""
    drawn = _replicas(table)
    scale = alt.Scale(domain=list(ROLES), range=list(COLOURS))
    order = drawn["partition"].unique(maintain_order=True).to_list()
    dots: Chart = alt.Chart(rows(drawn)).mark_circle(size=110, opacity=1)
    chart = dots.encode(
        alt.X("broker:N", title=None, axis=alt.Axis(orient="top", labelAngle=0)),
        alt.Y("partition:N", title=None, sort=order),
        alt.Color("role:N", scale=scale, legend=alt.Legend(title=None)),
        tooltip=["partition:N", "broker:N", "role:N"],
    )
    return chart.properties(height=max(2, len(order)) * ROW_PX)


def _replicas(table: pl.DataFrame) -> pl.DataFrame:
    """One row for each replica: partition, broker, role."""
    leads = pl.col("broker") == pl.col("leader")
    in_sync = pl.col("broker").is_in(pl.col("in_sync"))
    leader, follower, behind = map(pl.lit, ROLES)
    role = pl.when(leads).then(leader).when(in_sync).then(follower).otherwise(behind)
    replicas = table.with_columns(broker=pl.col("replicas")).explode("broker")
    return replicas.select("partition", "broker", role=role)


def groups(history: History) -> Figure | Absent:
    """How far each consumer group is behind, at the end of the run."""
    name, title = "kafka_groups", "Consumer groups"
    table = group_table(history)
    if table.is_empty():
        return Absent(name=name, title=title, reason="No consumer group was recorded.")
    lag = table["lag"].sum()
    names = table["group"].n_unique()
    caption = (
        f"Records after the committed offset, after the drain: {lag} in all, of {names} "
        f"group{'s' * (names != 1)}. What was read "
        "but not yet committed counts. Spark jobs keep their offsets in checkpoints, not here."
        f"{_left_out(table)}"
    )
    shown = table.head(SHOWN_MAX)
    return Figure(
        name=name,
        title=title,
        caption=caption,
        chart=_bars(shown),
        table=table,
        summary=readable(shown),
    )


def _bars(table: pl.DataFrame) -> Chart:
    drawn = table.select("group", "partition", "lag", row=pl.format("{} {}", "group", "partition"))
    order = drawn["row"].to_list()
    chart: Chart = (
        alt.Chart(rows(drawn))
        .mark_bar()
        .encode(
            alt.X("lag:Q", title="lag in records", axis=alt.Axis(tickMinStep=1, format="d")),
            alt.Y("row:N", title=None, sort=order),
            alt.Color("group:N", legend=None),
            tooltip=["group:N", "partition:N", "lag:Q"],
        )
    )
    return chart.properties(height=max(2, len(order)) * ROW_PX)
