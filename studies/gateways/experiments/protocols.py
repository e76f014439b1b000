"""4.4: HTTP and WebSocket."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from studies.gateways import harness, judging, results
from studies.gateways.judging import Outcome, Statement

TITLE = "4.4 HTTP and WebSocket"
CLAIM = (
    "True and scheduled sending rates agree up to a maximum, which is higher by WebSocket than by "
    "HTTP with a connection for each "
    "record; the client's maximum was about 1,200 records/s. JSON."
)
PROTOCOLS = ("per-connection", "keep-alive", "websocket")
CLAIMED_MAXIMUM = 1200
SECONDS = 3.0
RECORDS_MAX = 24_000
BELOW_MAXIMUM = 0.8
"""Rates up to this share of a maximum count as below it."""
AGREE = 0.95


@contextmanager
def server(bootstrap: str, *options: str, port: int = 0) -> Iterator[str]:
    """Run an ingest server; gives its address."""
    words = [*harness.COMMAND, "serve", "--bootstrap", bootstrap, "--port", str(port), *options]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait(30)


def trace(bench: harness.Bench) -> Path:
    """A trace of 256 gateways."""
    path = bench.folder / "trace.parquet"
    if not path.exists():
        words = [*harness.COMMAND, "trace", str(path), "--gateways", "256", "--days", "0.2"]
        subprocess.run(words, check=True, capture_output=True)
        subprocess.run(
            [*harness.COMMAND, "topics", "--bootstrap", bench.broker.bootstrap],
            check=True,
            capture_output=True,
        )
    return path


def sent(file: Path, url: str, protocol: str, *options: str) -> dict[str, Any]:
    """What a client measured."""
    words = [
        *harness.COMMAND,
        "send",
        str(file),
        "--url",
        url,
        "--protocol",
        protocol,
        "--serialisation",
        "json",
        "--json",
        *options,
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (
        0,
        1,
    ):  # Status 1: some records were not acknowledged, which is also a result.
        raise RuntimeError(done.stderr)
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def rows(bench: harness.Bench, repetitions: int) -> Iterator[results.Row]:
    """Each protocol at growing rates, then as fast as acknowledgements arrive."""
    rates = [300] if bench.quick else [1200, 4000, 12000]
    file = trace(bench)
    with server(bench.broker.bootstrap) as url:
        sent(
            file, url, "websocket", "--records", "20000", "--speed-up", "0"
        )  # Warms up the broker's JIT compiler.
        for repetition in range(repetitions):
            for protocol in PROTOCOLS:
                for rate in rates:
                    count = min(RECORDS_MAX, int(rate * SECONDS))
                    one = sent(file, url, protocol, "--records", str(count), "--rate", str(rate))
                    row = {
                        "protocol": protocol,
                        "scheduled": rate,
                        "repetition": repetition,
                        "true": one["acked_per_s"],
                    }
                    yield row | {
                        "p99_ms": one["p99_ms"],
                        "acked": one["acked"],
                        "records": one["records"],
                    }
                most = sent(
                    file,
                    url,
                    protocol,
                    "--records",
                    str(2000 if bench.quick else RECORDS_MAX),
                    "--speed-up",
                    "0",
                    "--waiting",
                    "4096",
                )
                row = {
                    "protocol": protocol,
                    "scheduled": 0,
                    "repetition": repetition,
                    "true": most["acked_per_s"],
                }
                yield row | {
                    "p99_ms": most["p99_ms"],
                    "acked": most["acked"],
                    "records": most["records"],
                }


def table(measurements: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals; scheduled 0 is as fast as acknowledgements arrive."""
    return results.points(measurements, ["protocol", "scheduled"], "true").sort(
        "protocol", "scheduled"
    )


def chart(measurements: pl.DataFrame) -> alt.Chart:
    """True over scheduled rate."""
    titles = {"scheduled": "scheduled records a second", "true": "acknowledged records a second"}
    return results.lines(
        table(measurements).filter(pl.col("scheduled") > 0),
        x="scheduled",
        y="true",
        color="protocol",
        titles=titles,
    )


def agreement(measurements: pl.DataFrame, protocol: str) -> list[float]:
    """The lowest ratio of true to scheduled rate below the maximum, for each repetition; empty if
    all rates were above.
    """
    own = measurements.filter(pl.col("protocol") == protocol)
    most = float(own.filter(pl.col("scheduled") == 0)["true"].mean() or 0)
    below = own.filter(pl.col("scheduled").is_between(1, BELOW_MAXIMUM * most))
    worst = below.group_by("repetition").agg(
        (pl.col("true") / pl.col("scheduled")).min().alias("share")
    )
    return [float(each) for each in worst.sort("repetition")["share"]]


def statements(measurements: pl.DataFrame) -> list[Statement]:
    """The claim in parts."""
    made = []
    for name in PROTOCOLS:
        if shares := agreement(measurements, name):
            share = f"{BELOW_MAXIMUM:.0%}".replace("%", " %")
            says = f"{name}: true and scheduled rates agree up to {share} of the maximum"
            made.append(Statement(says=says, values=shares, least=AGREE, show=judging.share))
    alone = {"protocol": "per-connection", "scheduled": 0}
    for name in PROTOCOLS[1:]:
        ratios = judging.ratios(measurements, "true", {"protocol": name, "scheduled": 0}, alone)
        says = f"the maximum is higher by {name} than with a connection for each record"
        made.append(Statement(says=says, values=ratios, least=1.0, show="{:.2f} times".format))
    says = f"with a connection for each record the maximum is about {CLAIMED_MAXIMUM:,}/s"
    likely = {Outcome.ABOVE: "processors and programs are faster than they were"}
    return [
        *made,
        judging.about(
            says,
            judging.values(measurements, "true", **alone),
            CLAIMED_MAXIMUM,
            "{:,.0f}/s".format,
            likely,
        ),
    ]


def verdict(measurements: pl.DataFrame) -> str:
    """The maxima."""
    most = {
        name: float(measurements.filter(protocol=name, scheduled=0)["true"].mean() or 0)
        for name in PROTOCOLS
    }
    sentences = ", ".join(f"{name} {rate:,.0f}/s" for name, rate in most.items())
    missing, sent_in_all = (
        int((measurements["records"] - measurements["acked"]).sum()),
        int(measurements["records"].sum()),
    )
    intro = (
        f"Maxima: {sentences}. Client, server and broker share the machine; "
        f"{missing} of {sent_in_all:,} records were not acknowledged."
    )
    return judging.told(intro, statements(measurements))
