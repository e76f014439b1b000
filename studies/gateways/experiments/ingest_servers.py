"""Open question: several ingest servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import altair as alt
import polars as pl

from streambed.artifacts.one_shot import free_ports
from studies.gateways import harness, judging, results
from studies.gateways.experiments.protocols import sent, server, trace
from studies.gateways.judging import Outcome, Statement

TITLE = "Several ingest servers"
CLAIM = (
    "An open question of the thesis: more producers (ingest servers) will be needed for many "
    "gateways in production."
)
SHARED = "servers, client and broker share two cores here"


def rows(bench: harness.Bench, repetitions: int) -> Iterator[results.Row]:
    """One server and three that share a port; one client, as fast as acknowledgements arrive."""
    file = trace(bench)
    with server(bench.broker.bootstrap) as url:
        sent(
            file, url, "websocket", "--records", "20000", "--speed-up", "0"
        )  # Warms up the broker's JIT compiler.
    for repetition in range(repetitions):
        for servers in (1, 2) if bench.quick else (1, 3):
            (port,) = free_ports(1)
            with ExitStack() as stack:
                urls = [
                    stack.enter_context(server(bench.broker.bootstrap, "--share-port", port=port))
                    for _ in range(servers)
                ]
                for protocol in ("keep-alive", "websocket"):
                    count = (
                        2_000
                        if bench.quick
                        else {"keep-alive": 20_000, "websocket": 50_000}[protocol]
                    )
                    one = sent(
                        file,
                        urls[0],
                        protocol,
                        "--records",
                        str(count),
                        "--speed-up",
                        "0",
                        "--waiting",
                        "4096",
                    )
                    row = {
                        "protocol": protocol,
                        "servers": servers,
                        "repetition": repetition,
                        "acked_per_s": one["acked_per_s"],
                    }
                    yield row | {
                        "p99_ms": one["p99_ms"],
                        "unacknowledged": one["records"] - one["acked"],
                    }


def table(measurements: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals."""
    return results.points(measurements, ["protocol", "servers"], "acked_per_s").sort(
        "protocol", "servers"
    )


def chart(measurements: pl.DataFrame) -> alt.Chart:
    """Rate over servers."""
    titles = {"servers": "ingest servers", "acked_per_s": "acknowledged records a second"}
    return results.lines(
        table(measurements), x="servers", y="acked_per_s", color="protocol", titles=titles
    )


def statements(measurements: pl.DataFrame) -> list[Statement]:
    """Whether more servers have a higher rate."""
    made, most = [], int(measurements["servers"].max())
    for name in measurements["protocol"].unique(maintain_order=True):
        changes = judging.changes(
            measurements,
            "acked_per_s",
            {"protocol": name, "servers": most},
            {"protocol": name, "servers": 1},
        )
        likely = {Outcome.BELOW: SHARED}
        says = f"{name}: {most} servers acknowledge more records a second than one"
        made.append(
            Statement(says=says, values=changes, least=0.0, show=judging.change, likely=likely)
        )
    within_limit = (
        measurements.group_by("repetition")
        .agg(pl.col("unacknowledged").sum() == 0)
        .sort("repetition")["unacknowledged"]
    )
    return [
        *made,
        judging.always(
            "every record is acknowledged, by one server as by several", within_limit.to_list()
        ),
    ]


def verdict(measurements: pl.DataFrame) -> str:
    """The effect of more servers."""
    sentences = [
        f"{row['protocol']} {row['servers']}: {row['acked_per_s']:,.0f}"
        for row in table(measurements).iter_rows(named=True)
    ]
    intro = (
        f"Acknowledged records a second, by servers: {'; '.join(sentences)}. All programs share "
        "this machine: that shows what more servers cost, not how far they scale."
    )
    return judging.told(intro, statements(measurements))
