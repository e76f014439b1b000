"""Figures of what programs of the user handed in: their records a second, and small tables."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import polars as pl

from streambed.kinds.evidence.readers import hands_in
from streambed.record import HANDED_IN
from streambed.record.history import History
from streambed.reports.figure import Absent, Chart, Figure, lines, rows

PREFIX = "table-"
ROWS_MAX = 100
"""Most rows of a table that are shown."""
STEP_S = 1
"""Records are counted in steps of this length."""
LEDGERS = {"sent": ("producer", ("sent", "acked")), "seen": ("consumer", ("seen",))}


def record_rates(history: History) -> list[Figure]:
    """Records a second by the ledgers that programs handed in; no figure if there are none."""
    parts = []
    for ledger, (owner, times) in LEDGERS.items():
        frame = getattr(history.ledger, ledger)
        names = [name for name in frame[owner].unique() if hands_in(history, name)]
        own = frame.filter(pl.col(owner).is_in(names))
        parts += [_records_per_second(history, own, owner, time) for time in times]
    table = pl.concat(parts)
    if table.is_empty():
        return []
    chart, says = lines(history, table, by="series", value="per_s", unit="records/s", number="~s")
    caption = f"Records in a second, by the ledgers that the programs handed in. {says}"
    title = "Records of programs that handed in a ledger"
    return [Figure(name="handed_in", title=title, caption=caption, chart=chart, table=table)]


def _records_per_second(
    history: History, frame: pl.DataFrame, owner: str, time: str
) -> pl.DataFrame:
    """Records in each second: time_s, series, per_s; 0 in a second without any."""
    second = (((pl.col(time) - history.start_ns) / 1e9) // STEP_S).cast(pl.Int64)
    records = frame.drop_nulls(time).select(
        series=pl.format(f"{{}} {time}", pl.col(owner).str.split("/").list.first()), second=second
    )
    counts = records.group_by("series", "second").agg(per_s=pl.len() / STEP_S)
    spans = records.group_by("series").agg(
        second=pl.int_ranges(pl.col("second").min(), pl.col("second").max() + 1)
    )
    every = spans.explode("second").join(counts, on=["series", "second"], how="left")
    middle_s = (pl.col("second") + 0.5) * STEP_S
    return every.select(
        "series", time_s=middle_s, per_s=pl.col("per_s").fill_null(0.0).cast(pl.Float64)
    ).sort("series", "time_s")


def section(directory: Path) -> dict[str, list[Figure | Absent]]:
    """The tables `table-TITLE.csv` that programs put into the folder `handed_in` of a run; no
    section if there are none.
    """
    paths = sorted((directory / HANDED_IN).glob(f"{PREFIX}*.csv"))
    return {"Tables": [_table_figure(path) for path in paths]} if paths else {}


def _table_figure(path: Path) -> Figure | Absent:
    """A table as bars: the first column names them, the first column of numbers is their length."""
    name, title = path.stem, _title(path.stem)
    try:
        table = pl.read_csv(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = f"{HANDED_IN}/{path.name} is no CSV file with a first line of names: {error}"
        return Absent(name=name, title=title, reason=reason)
    numbers = [column for column in table.columns[1:] if table[column].dtype.is_numeric()]
    if table.is_empty() or not numbers:
        reason = f"{HANDED_IN}/{path.name} needs rows, names first, and a column of numbers."
        return Absent(name=name, title=title, reason=reason)
    few = table.head(ROWS_MAX)
    chart = _bars(few, label=few.columns[0], value=numbers[0])
    caption = f"As a program handed it in: {HANDED_IN}/{path.name}."
    if table.height > few.height:
        caption += f" The first {few.height} rows of {table.height}."
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table, summary=few)


def _title(stem: str) -> str:
    words = stem.removeprefix(PREFIX).replace("-", " ").replace("_", " ")
    return words[:1].upper() + words[1:]


def _bars(table: pl.DataFrame, *, label: str, value: str) -> Chart:
    bars = table.select(pl.col(label).cast(pl.String).alias("name"), pl.col(value).alias("value"))
    chart: Chart = alt.Chart(rows(bars)).mark_bar()
    return chart.encode(
        alt.Y("name:N", title=label, sort=None),
        alt.X("value:Q", title=value),
        tooltip=[alt.Tooltip("name:N", title=label), alt.Tooltip("value:Q", title=value)],
    )
