"""Commands that show what a store holds, also while a job writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from rich.console import Console
from rich.table import Table
from typer import Argument

from gateway_traffic.cli.jobs import StoreAddress, day_of, table_of
from gateway_traffic.errors import UsageError
from gateway_traffic.stores.opening import open_store
from gateway_traffic.stores.store import TrafficStore

Day = Annotated[str, Argument(help="The day, such as 2024-01-01; default: the newest.")]


def top(day: Day = "", store: StoreAddress = "traffic.db") -> None:
    """Show the ten busiest gateways of a day, also while a job writes."""
    with _open_at(store, day) as (opened, chosen):
        Console().print(table_of(opened, chosen))


def means(day: Day = "", store: StoreAddress = "traffic.db") -> None:
    """Show what a gateway sent and received on average in each hour of a day, over all gateways."""
    with _open_at(store, day) as (opened, chosen):
        table = Table("hour", "MB sent", "MB received", "gateways")
        for mean in opened.means(chosen):
            table.add_row(
                f"{mean.part:02d}",
                f"{mean.tx / 1e6:,.3f}",
                f"{mean.rx / 1e6:,.3f}",
                f"{mean.gateways:,}",
            )
        Console().print(table)


def anomalies(day: Day = "", store: StoreAddress = "traffic.db") -> None:
    """Show the hours in which gateways sent much more than expected; needs `job --model`."""
    with _open_at(store, day) as (opened, chosen):
        table = Table("hour", "gateway", "standard deviations")
        for anomaly in opened.anomalies(chosen):
            hour, score = f"{anomaly.part:02d}", f"{anomaly.score:.1f}"
            table.add_row(hour, anomaly.gateway_id, score)
        Console().print(table)


@contextmanager
def _open_at(store: str, day: str) -> Iterator[tuple[TrafficStore, int]]:
    """The open store and the day to show: the given one, or the newest."""
    opened = open_store(store, read_only=True)
    try:
        known = [total.day for total in opened.days()]
        chosen = day_of(day) if day else max(known, default=None)
        if chosen is None or chosen not in known:
            raise UsageError(
                f"the store {store} has nothing of {day or 'any day'}; it has {len(known)} days"
            )
        yield opened, chosen
    finally:
        opened.close()
