"""Measure and plot Raptor's use case: traffic per port, topics per leader, the effect of balance.
Writes results/.

    python studies/raptor/analyse.py           run missing trials (into runs/raptor), then analyse
    python studies/raptor/analyse.py FOLDER    analyse the trials in FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import altair as alt
import polars as pl
import vl_convert

import streambed
from streambed import Run

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SMOOTHED = 5
"""At 10 kB a record there are few, so a port has many in one second and none in the next."""
WARM_UP_NS = 6 * 10**9
SPREADS = ("port_spread", "leads_spread", "busiest_port_kb_per_s", "latency_p50_s", "latency_p99_s")


def trial(run: Run) -> dict[str, object]:
    """The first columns of every table: placement and repetition."""
    return {
        "placement": run.plan.declaration["components"]["kafka"]["placement"],
        "seed": run.plan.seed,
    }


def ports(run: Run) -> pl.DataFrame:
    """Traffic received by each access port (the switch's end of a site's link) in each second of
    the load, in kB/s.
    """
    load_ns = run.history().load_ns or 0
    end_ns = load_ns + run.plan.duration_ns
    counted = run.samples().filter(
        (pl.col("metric") == "port_tx_bytes")
        & pl.col("of").str.starts_with("h")
        & pl.col("time").is_between(load_ns, end_ns)
    )
    grown = (pl.col("value").diff() / pl.col("time").diff()).over("of") * 1e6
    return (
        counted.sort("of", "time")
        .with_columns(
            kb_per_s=grown,
            time_s=((pl.col("time") - load_ns) / 1e9).round(1),
            site=pl.col("of").str.split("/").list.first(),
        )
        .drop_nulls("kb_per_s")
        .select("time_s", "site", "kb_per_s")
    )


def leads(run: Run) -> pl.DataFrame:
    """How many topics each broker leads at the end."""
    last = (
        run.samples()
        .filter(pl.col("metric") == "leads_partitions")
        .sort("time")
        .group_by("of")
        .agg(pl.col("value").last())
    )
    return last.select(
        site=pl.col("of").str.split("/").list.last(), leads=pl.col("value").cast(int)
    )


def latencies(run: Run) -> pl.Series:
    """Time from each record's due time until each reader saw it, after the warm-up."""
    ledger = run.ledger()
    seen = ledger.seen.join(ledger.sent, on=["producer", "sequence"])
    since = (run.history().load_ns or 0) + WARM_UP_NS
    return (
        seen.filter(pl.col("due") >= since)
        .select((pl.col("seen") - pl.col("due")) / 1e9)
        .to_series()
    )


def sites(run: Run) -> pl.DataFrame:
    """One row per site of a run: its port's mean after the warm-up, and how many topics its broker
    led.
    """
    steady = (
        ports(run)
        .filter(pl.col("time_s") * 1e9 > WARM_UP_NS)
        .group_by("site")
        .agg(pl.col("kb_per_s").mean())
    )
    return steady.join(leads(run), on="site").select(
        *(pl.lit(value).alias(key) for key, value in trial(run).items()), pl.all()
    )


def row(run: Run) -> dict[str, object]:
    """One row per run: the spread between ports and between brokers, and the latency of records."""
    of_sites, late = sites(run), latencies(run)
    rates, led = of_sites["kb_per_s"], of_sites["leads"]
    return {
        **trial(run),
        "port_spread": rates.max() / rates.min(),
        "busiest_port_kb_per_s": rates.max(),
        "quietest_port_kb_per_s": rates.min(),
        "leads_min": led.min(),
        "leads_max": led.max(),
        "leads_spread": led.max() - led.min(),
        "latency_p50_s": late.median(),
        "latency_p99_s": late.quantile(0.99),
        "believed": run.fidelity().believable,
    }


def summary(trials: pl.DataFrame) -> pl.DataFrame:
    """The mean of each measure with its lowest and highest trial; trials are too few for an
    interval.
    """
    long = trials.unpivot(index="placement", on=SPREADS, variable_name="measure")
    value = pl.col("value")
    statistics = long.group_by("placement", "measure").agg(
        trials=pl.len(), mean=value.mean(), lowest=value.min(), highest=value.max()
    )
    return statistics.sort("measure", "placement")


def drawn(over_time: pl.DataFrame, of_sites: pl.DataFrame) -> alt.VConcatChart:
    """Figure 3a above, 3b below; Kafka's placement on the left, the balanced one on the right."""
    calm = (
        over_time.sort("time_s")
        .with_columns(pl.col("kb_per_s").rolling_mean(SMOOTHED).over("placement", "site"))
        .drop_nulls()
    )
    lines = (
        alt.Chart(calm)
        .mark_line(strokeWidth=1, opacity=0.7)
        .encode(
            x=alt.X("time_s:Q", title="time since the load began (s)"),
            y=alt.Y(
                "kb_per_s:Q", title=["received at the access port", f"(kB/s, mean of {SMOOTHED} s)"]
            ),
            color=alt.Color("site:N", legend=None),
        )
        .properties(width=330, height=200)
        .facet(column=alt.Column("placement:N", title="placement", sort=["kafka", "balanced"]))
    )
    counted = (
        of_sites.group_by("placement", "seed", "leads")
        .len()
        .group_by("placement", "leads")
        .agg(brokers=pl.col("len").mean())
    )
    bars = (
        alt.Chart(counted)
        .mark_bar()
        .encode(
            x=alt.X("leads:O", title="topics that a broker leads (ideal: 5)"),
            y=alt.Y("brokers:Q", title="brokers"),
            color=alt.condition(alt.datum.leads == 5, alt.value("#c0392b"), alt.value("#4c78a8")),
        )
    )
    below = bars.properties(width=330, height=160).facet(
        column=alt.Column("placement:N", title="placement", sort=["kafka", "balanced"])
    )
    return alt.vconcat(lines, below)


def main(folder: Path) -> None:
    """Read every finished trial and write the results."""
    directories = sorted(
        {path.parent for path in folder.rglob("plan.json") if not path.parent.is_symlink()}
    )
    runs = [run for run in map(Run, directories) if run.state == "finished"]
    RESULTS.mkdir(exist_ok=True)
    trials = pl.DataFrame([row(run) for run in runs]).sort("placement", "seed")
    of_sites = pl.concat([sites(run) for run in runs]).sort("placement", "seed", "site")
    first = {str(trial(run)["placement"]): run for run in reversed(runs)}
    over_time = pl.concat(
        [ports(run).with_columns(placement=pl.lit(placement)) for placement, run in first.items()]
    )
    trials.write_csv(RESULTS / "trials.csv", float_precision=3)
    of_sites.write_csv(RESULTS / "sites.csv", float_precision=1)
    summary(trials).write_csv(RESULTS / "summary.csv", float_precision=3)
    (RESULTS / "raptor.svg").write_text(
        vl_convert.vegalite_to_svg(drawn(over_time, of_sites).to_json())
    )
    with pl.Config(tbl_rows=-1, tbl_cols=-1):
        print(trials)
        print(summary(trials))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        streambed.study(HERE / "study.yaml")
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/raptor"))
