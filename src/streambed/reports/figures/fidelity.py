"""Figures of fidelity: errors of links, lateness of the delay line, load of the machine."""

from __future__ import annotations

import altair as alt
import polars as pl

from streambed.record.calibration import LinkCalibration, bound_ns
from streambed.record.fidelity import calibrations, least_delay_ns
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import Absent, Chart, Figure, lines, rows

DIRECTIONS = 40
"""Most directions of links drawn: the worst."""
SHARES = {
    "machine_busy_s": "busy",
    "machine_stolen_s": "taken away by the hypervisor",
    "machine_waited_s": "some program waits for a core",
    "delay_line_waited_s": "the delay line waits for a core",
}
SHORT_S = 0.5
"""Shorter intervals are left out: the last sample may follow right after the one before."""
OF_ALL_CORES = ("machine_busy_s", "machine_stolen_s")


def calibration(history: History) -> Figure | Absent:
    """The error of each link's delay in each direction, measured before anything ran."""
    name, title = "calibration", "Calibration of links"
    directions = calibrations(history)
    if not directions:
        return Absent(name=name, title=title, reason="No link was calibrated.")
    table = pl.DataFrame([_row(direction) for direction in directions], infer_schema_length=None)
    twice = pl.col("way").is_duplicated()  # Several links may join the same two nodes.
    table = table.with_columns(
        way=pl.when(twice).then(pl.format("{} by {}", "way", "link")).otherwise("way")
    ).drop("link")
    table = table.sort(
        pl.col("error_ms").abs(), descending=True, nulls_last=False, maintain_order=True
    )
    shown = table.head(DIRECTIONS)
    left_out = ""
    if table.height > DIRECTIONS:
        left_out = f"Drawn are the worst {DIRECTIONS} of {table.height}; the file has all. "
    if table.height > series.SERIES:
        left_out += f"Below are the worst {series.SERIES} of {table.height} directions. "
    caption = (
        "How much longer than declared packets took, in each direction, before anything ran; "
        "the cost of sending and receiving is subtracted. "
        "Whiskers: error expected from jitter alone. "
        f"Ticks: tolerance. {left_out}"
    )
    return Figure(
        name=name,
        title=title,
        caption=caption,
        chart=_errors(shown),
        table=table,
        summary=_summary(shown),
    )


def _summary(shown: pl.DataFrame) -> pl.DataFrame:
    """The worst directions, without columns that are empty or zero throughout."""
    worst = shown.head(series.SERIES).drop("bound_ms")
    return worst.select(
        column.name
        for column in worst
        if not column.cast(pl.String).fill_null("").is_in(["", "0.0"]).all()
    )


def _row(direction: LinkCalibration) -> dict[str, object]:
    measured_ms = None if direction.measured_ns is None else direction.measured_ns / 1e6
    return {
        "link": direction.link,
        "way": f"{direction.source} → {direction.target}",
        "declared_ms": direction.declared_ns / 1e6,
        "measured_ms": measured_ms,
        "error_ms": None
        if measured_ms is None
        else round(measured_ms - direction.declared_ns / 1e6, 4),
        "chance_ms": direction.chance_ns / 1e6,
        "bound_ms": bound_ns(direction.declared_ns) / 1e6,
        "packets": f"{direction.arrived} of {direction.probes}",
        "declared_bps": direction.declared_bps if direction.measured_bps is not None else None,
        "measured_bps": direction.measured_bps,
        "wrong": direction.text,
    }


def _errors(shown: pl.DataFrame) -> Chart:
    drawn = shown.with_columns(
        low=pl.col("error_ms") - pl.col("chance_ms"),
        high=pl.col("error_ms") + pl.col("chance_ms"),
        least=-pl.col("bound_ms"),
    )
    row_axis = alt.Axis(grid=True, ticks=False, domain=False, labelLimit=240)
    base = alt.Chart(rows(drawn)).encode(alt.Y("way:N", sort=None, title=None, axis=row_axis))
    unit = "ms too long"
    x = alt.X("error_ms:Q", title=unit, axis=alt.Axis(format="~r"))
    tick = base.mark_tick(style="doubt_name", thickness=2)
    upper = tick.encode(alt.X("bound_ms:Q", title=unit))
    lower = tick.encode(alt.X("least:Q", title=unit))
    whisker = base.mark_rule(style="soft").encode(alt.X("low:Q", title=unit), alt.X2("high:Q"))
    point = base.mark_point(filled=True, size=70, opacity=1).encode(x, tooltip=_error_tooltip())
    return alt.layer(upper, lower, whisker, point).properties(height=18 * shown.height)


def _error_tooltip() -> list[alt.Tooltip]:
    numbers = ("declared_ms", "measured_ms", "error_ms")
    times = [alt.Tooltip(f"{column}:Q", format=".4~r") for column in numbers]
    return [alt.Tooltip("way:N"), *times, alt.Tooltip("packets:N")]


def lateness(history: History) -> Figure | Absent:
    """How late the delay line released packets."""
    name, title = "lateness", "Lateness of the delay line"
    late_ns = series.samples(history, "delay_line_late_mean_ns", "delay_line_late_max_ns")
    if late_ns.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="No delay line ran: no link needed one, or the kernel emulated the delays.",
        )
    statistic = (
        pl.when(pl.col("metric") == "delay_line_late_max_ns")
        .then(pl.lit("largest"))
        .otherwise(pl.lit("mean"))
    )
    table = late_ns.select("time_s", statistic=statistic, late_ms=pl.col("value") / 1e6)
    chart, says = lines(history, table, by="statistic", value="late_ms", unit="ms late", keep="max")
    bound_ms = bound_ns(least_delay_ns(calibrations(history))) / 1e6
    caption = (
        "How long packets waited beyond the declared delay, per second: the test bed's own error. "
        f"Network timing counts as off in a second whose mean is above {bound_ms:.3g} ms. {says}"
    )
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


def pressure(history: History) -> Figure | Absent:
    """Shares of CPU time busy or stolen, and of time in which some program waited for a core."""
    name, title = "pressure", "Pressure on the machine"
    grown = series.rates(history, *SHARES)
    if grown.is_empty():
        return Absent(
            name=name, title=title, reason="Not available: the run recorded less than 2 s."
        )
    table = _shares(history, grown)
    chart, says = lines(history, table, by="what", value="percent", unit="%")
    caption = (
        "CPU busy and stolen (all cores, any program of this machine); share of time in which a "
        "program, or the delay line, waited for a CPU. "
        f"Busy programs alone are no reason for doubt. {says}"
    )
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


def _shares(history: History, grown: pl.DataFrame) -> pl.DataFrame:
    """Growth of CPU times as shares: time_s, what, percent."""
    all_times = series.rates(history, "machine_busy_s", "machine_idle_s", "machine_stolen_s")
    cores = all_times.group_by("time_s").agg(cores=pl.col("value").sum())
    of_all_cores = pl.col("metric").is_in(OF_ALL_CORES)
    per_core = pl.col("value") / pl.col("cores")
    share = pl.when(of_all_cores).then(per_core).otherwise(pl.col("value"))
    what = pl.col("metric").replace(SHARES)
    shares = grown.join(cores, on="time_s", how="left")
    shares = shares.select("time_s", what=what, percent=100 * share).sort("what", "time_s")
    passed_s = pl.col("time_s").diff().over("what")
    return shares.filter(passed_s.fill_null(1) > SHORT_S)
