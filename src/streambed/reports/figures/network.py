"""Figures of the network: throughput of each port, and background traffic."""

from __future__ import annotations

from typing import Literal

import polars as pl

from streambed.plan import Plan
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import Absent, Figure, lines

Direction = Literal["received", "sent"]
METRICS: dict[Direction, str] = {"received": "port_rx_bytes", "sent": "port_tx_bytes"}


def throughput(history: History, plan: Plan | None, direction: Direction) -> Figure | Absent:
    """Bits per second at the ports of hosts, as the hosts see them."""
    name, title = f"throughput_{direction}", f"Throughput {direction} by hosts"
    switches = {node.name for node in plan.nodes if node.switch} if plan else set()
    node = pl.col("of").str.replace(r"/[^/]*$", "")
    bytes_per_s = series.rates(history, METRICS[direction]).filter(~node.is_in(switches))
    if bytes_per_s.is_empty():
        return Absent(
            name=name,
            title=title,
            reason="Not available: the run recorded less than 2 s.",
        )
    table = bytes_per_s.select("time_s", port="of", bit_per_s=pl.col("value") * 8)
    chart, says = lines(history, table, by="port", value="bit_per_s", unit="bit/s", number="~s")
    caption = (
        f"Bits {direction} in a second at each access port, from the kernel's counters, "
        f"headers included. {says}"
    )
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


def traffic(history: History) -> list[Figure]:
    """What traffic components received; no figure if there was none."""
    bytes_per_s = series.rates(history, "traffic_received_bytes")
    if bytes_per_s.is_empty():
        return []
    table = bytes_per_s.select("time_s", process="of", bit_per_s=pl.col("value") * 8)
    chart, says = lines(history, table, by="process", value="bit_per_s", unit="bit/s", number="~s")
    missed = (
        series.samples(history, "traffic_missed_packets")
        .group_by("of")
        .agg(pl.col("value").max())["value"]
        .sum()
    )
    missing = f"{missed:.0f} packets were due but could not be sent. " if missed else ""
    caption = f"Bits of background traffic that each host received in a second. {missing}{says}"
    return [
        Figure(
            name="traffic", title="Background traffic", caption=caption, chart=chart, table=table
        )
    ]
