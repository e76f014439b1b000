"""Open question: several ingest servers."""

from __future__ import annotations

from contextlib import ExitStack

import altair as alt
import harness
import polars as pl
import results

from experiments.protocols import sent, server, trace
from streambed.making import free_ports

TITLE = "Several ingest servers"
CLAIM = "An open question of the thesis: more producers (ingest servers) will be needed for many gateways in production."


def rows(bench: harness.Bench, repetitions: int) -> pl.DataFrame:
    """One, two and three servers that share a port; one client as fast as acknowledgements come."""
    file, found = trace(bench), []
    for repetition in range(repetitions):
        for servers in (1, 2) if bench.quick else (1, 2, 3):
            (port,) = free_ports(1)
            with ExitStack() as stack:
                urls = [stack.enter_context(server(bench.broker.bootstrap, "--share-port", port=port)) for _ in range(servers)]
                for protocol in ("keep-alive", "websocket"):
                    count = 2_000 if bench.quick else {"keep-alive": 20_000, "websocket": 50_000}[protocol]
                    one = sent(file, urls[0], protocol, "--records", str(count), "--speed-up", "0", "--waiting", "4096")
                    row = {"protocol": protocol, "servers": servers, "repetition": repetition, "acked_per_s": one["acked_per_s"]}
                    found.append(row | {"p99_ms": one["p99_ms"], "lost": one["records"] - one["acked"]})
    return pl.DataFrame(found)


def table(found: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals."""
    return results.points(found, ["protocol", "servers"], "acked_per_s").sort("protocol", "servers")


def chart(found: pl.DataFrame) -> alt.Chart:
    """Rate over servers."""
    titles = {"servers": "ingest servers", "acked_per_s": "acknowledged records a second"}
    return results.lines(table(found), x="servers", y="acked_per_s", color="protocol", titles=titles)


def verdict(found: pl.DataFrame) -> str:
    """What a second server brings here."""
    shown = {(row["protocol"], row["servers"]): row["acked_per_s"] for row in table(found).iter_rows(named=True)}
    most = int(found["servers"].max())
    said = [
        f"{name}: {shown[name, most] / shown[name, 1]:.2f} times as much with {most} as with one" for name in ("keep-alive", "websocket")
    ]
    return (
        f"Measured: {'; '.join(said)}. Servers know nothing of each other, so nothing stands in the way but "
        f"the two cores that they share with "
        "the client and the broker: what this shows is that more servers cost little, not how far they scale."
    )
