"""Figures of the load: records sent, acknowledged and seen, and how far consumers were behind."""

from __future__ import annotations

import polars as pl

from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import Absent, Figure, constant, lines

COUNTERS = ("sent_total", "acked_total", "failed_total", "seen_total")


def record_rates(history: History) -> Figure | Absent:
    """Records a second, by component and counter."""
    name, title = "records", "Records sent, acknowledged and seen"
    rates = series.rates(history, *COUNTERS)
    # A producer without failures needs no line at zero.
    has_line = (pl.col("metric") != "failed_total") | (pl.col("value") > 0)
    peaks = rates.group_by("metric", "of").agg(pl.col("value").max()).filter(has_line)
    drawn = rates.join(peaks.select("metric", "of"), on=["metric", "of"])
    if drawn.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="No throughput: this run has no streambed producer or consumer.",
        )
    what = pl.format("{} {}", pl.col("of"), pl.col("metric").str.strip_suffix("_total"))
    table = drawn.select("time_s", "of", "metric", series=what, per_s="value").sort(
        "series", "time_s"
    )
    chart, says = lines(history, table, by="series", value="per_s", unit="records/s", number="~s")
    caption = (
        "Records per second. "
        f"Where acked falls below sent, records wait for their acknowledgement. {says}"
    )
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


def lag(history: History) -> Figure | Absent:
    """Records that were in the log and not yet read, by consumer."""
    name, title = "lag", "Consumer lag"
    lags = series.samples(history, "lag_records")
    if lags.is_empty():
        return Absent(name=name, title=title, reason="No consumer reported its lag.")
    table = lags.select("time_s", consumer="of", records="value")
    same = constant(table, by="consumer", value="records")
    if same is not None and set(same.values()) == {0.0}:
        reason = (
            f"0 records behind throughout, as far as the client knew: {', '.join(sorted(same))}."
        )
        return Absent(name=name, title=title, reason=reason)
    chart, says = lines(
        history,
        table,
        by="consumer",
        value="records",
        unit="records behind",
        number="~s",
        keep="max",
        counts=True,
    )
    caption = f"Records in the log that the consumer had not read yet. {says}"
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)
