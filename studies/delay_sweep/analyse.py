"""Turn the trials of the sweep into results/: a table, slopes, round trips, and a plot that
compares them with earlier measurements.

python studies/delay_sweep/analyse.py [FOLDER]      FOLDER holds the study's trials; default
runs/delay-sweep
"""

from __future__ import annotations

import sys
from itertools import groupby, pairwise
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
import vl_convert

from streambed import Run
from streambed.record.statistics import student

HERE = Path(__file__).parent
RESULTS = HERE / "results"
BURSTS = ("first", "second")


def swept(run: Run) -> tuple[str, float]:
    """The component whose link is slow, and its one-way delay in ms; without a slow one, all are
    equal.
    """
    delays = {link.ports[0].node: link.shapes[0].delay_ns / 1e6 for link in run.plan.links}
    node = max(delays, key=lambda node: delays[node])
    return node, delays[node]


def burst(run: Run, producer: str) -> pl.DataFrame:
    """The records of one burst: due and seen by the reader."""
    ledger = run.ledger()
    seen = (
        ledger.seen.filter(pl.col("consumer") == "reader")
        .group_by("producer", "sequence")
        .agg(pl.col("seen").min())
    )
    return ledger.sent.filter(pl.col("producer") == producer).join(
        seen, on=["producer", "sequence"]
    )


def round_trips(run: Run, start_ns: int, end_ns: int) -> int:
    """How many request-response round trips the engine's host made between two times.

    Counts changes from outgoing to incoming, in order of time, among segments with payload and the
    first segment of each connection.
    """
    turns = []
    for line in (run.directory / "data" / "capture.txt").read_text().splitlines():
        time, direction, _, _, payload, flags = line.split()
        if start_ns <= int(time) <= end_ns and (int(payload) > 0 or int(flags) & 2):
            turns.append(direction)
    order = [direction for direction, _ in groupby(turns)]
    return sum(before == "out" and after == "in" for before, after in pairwise(order))


def trial(run: Run, which: str) -> dict[str, object]:
    """One row of the table."""
    link, delay_ms = swept(run)
    records = burst(run, which)
    mean_s = float(((records["seen"] - records["due"]) / 1e9).mean() or 0)
    due = int(records["due"].min() or 0)
    trips = round_trips(run, due, due + int(mean_s * 1e9))
    point = {"burst": which, "link": link, "delay_ms": delay_ms, "seed": run.plan.seed}
    return {**point, "records": len(records), "mean_s": mean_s, "round_trips": trips}


def summary(trials: pl.DataFrame) -> pl.DataFrame:
    """Mean of each point with its 95 % interval. With few repetitions per point, the spread is
    pooled over all points of a burst.
    """
    points = trials.group_by("burst", "link", "delay_ms").agg(
        pl.len().alias("trials"),
        pl.col("mean_s").mean().alias("ours_s"),
        pl.col("mean_s").var().alias("variance"),
        pl.col("round_trips").mean(),
    )
    freedom = (pl.col("trials") - 1).sum().over("burst")
    pooled = ((pl.col("trials") - 1) * pl.col("variance")).sum().over("burst") / freedom
    half = (pooled / pl.col("trials")).sqrt() * freedom.map_elements(
        lambda degrees: student(int(degrees)), return_dtype=pl.Float64
    )
    return (
        points.with_columns(low_s=pl.col("ours_s") - half, high_s=pl.col("ours_s") + half)
        .drop("variance")
        .sort("burst", "link", "delay_ms")
    )


def slopes(table: pl.DataFrame, column: str) -> dict[str, float]:
    """By component, the number of one-way delays that a burst waits: the slope of a line."""
    by_kind = {}
    for (link,), rows in table.drop_nulls(column).group_by("link", maintain_order=True):
        if len(rows) > 2:
            by_kind[str(link)] = float(
                np.polyfit(rows["delay_ms"].to_numpy() / 1e3, rows[column].to_numpy(), 1)[0]
            )
    return by_kind


def plot(points: pl.DataFrame, claimed: pl.DataFrame) -> alt.Chart:
    """Our results with intervals, those of hardware and stream2gym; a panel per component."""
    names = {"hardware_s": "hardware", "ancestor_s": "stream2gym"}
    long = pl.concat(
        [
            points.select(
                "link",
                "delay_ms",
                pl.format("streambed, {} burst", "burst").alias("who"),
                mean_s="ours_s",
                low_s="low_s",
                high_s="high_s",
            ),
            *(
                claimed.drop_nulls(column).select(
                    "link",
                    pl.col("delay_ms").cast(float),
                    who=pl.lit(names[column]),
                    mean_s=column,
                    low_s=pl.lit(None, float),
                    high_s=pl.lit(None, float),
                )
                for column in ("hardware_s", "ancestor_s")
            ),
        ]
    )
    x = alt.X("delay_ms:Q", title="one-way delay of the link (ms)")
    y = alt.Y("mean_s:Q", title="mean end-to-end time of a burst of 100 (s)")
    base = alt.Chart(long).encode(x=x, color=alt.Color("who:N", title=None))
    layers = alt.layer(
        base.mark_line(point=True).encode(y=y, strokeDash=alt.StrokeDash("who:N", legend=None)),
        base.mark_rule().encode(y="low_s:Q", y2="high_s:Q"),
    ).properties(width=300, height=220)
    return layers.facet(
        alt.Facet("link:N", title="slow link of", sort=["broker", "engine", "source", "sink"]),
        columns=2,
    )


def main(folder: Path) -> None:
    """Read every finished trial and write the results."""
    directories = sorted(
        {path.parent for path in folder.rglob("plan.json") if not path.parent.is_symlink()}
    )
    runs = [run for run in map(Run, directories) if run.state == "finished"]
    trials = pl.DataFrame([trial(run, which) for run in runs for which in BURSTS]).sort(
        "burst", "link", "delay_ms", "seed"
    )
    claimed = pl.read_csv(HERE / "claimed.csv")
    points = summary(trials)
    table = points.join(
        claimed.with_columns(pl.col("delay_ms").cast(float)), on=["link", "delay_ms"], how="left"
    )
    RESULTS.mkdir(exist_ok=True)
    trials.write_csv(RESULTS / "trials.csv", float_precision=4)
    trials.write_parquet(RESULTS / "trials.parquet")
    table.write_csv(RESULTS / "summary.csv", float_precision=3)
    every = {
        f"streambed, {which} burst": slopes(table.filter(pl.col("burst") == which), "ours_s")
        for which in BURSTS
    }
    every |= {
        "hardware": slopes(claimed, "hardware_s"),
        "stream2gym": slopes(claimed, "ancestor_s"),
    }
    rows = [
        {"link": link, "who": who, "one_way_delays": value}
        for who, values in every.items()
        for link, value in values.items()
    ]
    pl.DataFrame(rows).write_csv(RESULTS / "slopes.csv", float_precision=1)
    chart = plot(points, claimed).to_json()
    (RESULTS / "delay_sweep.svg").write_text(vl_convert.vegalite_to_svg(chart))
    with pl.Config(tbl_rows=-1, tbl_cols=-1):
        print(table)
        print(pl.DataFrame(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs/delay-sweep"))
