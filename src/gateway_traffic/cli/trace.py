"""The commands that make a trace and show its exact answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import polars as pl
from rich.console import Console
from rich.table import Table
from typer import Argument, Option

from gateway_traffic import answers, traces
from gateway_traffic.errors import UsageError
from gateway_traffic.records import Version

USUAL = traces.Homes()


FileArgument = Annotated[Path, Argument(help="The Parquet file to write.")]
GatewaysOption = Annotated[int, Option(help="Number of homes.")]
DaysOption = Annotated[float, Option(help="Days that the trace covers.")]
SeedOption = Annotated[int, Option(help="The same seed gives the same trace.")]
StartOption = Annotated[str, Option(help="First day, UTC.")]
IntervalOption = Annotated[float, Option(help="Usual seconds between two records of a gateway.")]
GapsOption = Annotated[float, Option(help="Silences of up to an hour, for each gateway and day.")]
RestartsOption = Annotated[float, Option(help="Restarts for each gateway and day.")]
LateOption = Annotated[float, Option(help="Share of records sent minutes too late.")]
DuplicatesOption = Annotated[float, Option(help="Share of records sent twice.")]
WrapsOption = Annotated[float, Option(help="Share of gateways whose counter wraps.")]


def trace(
    file: FileArgument,
    gateways: GatewaysOption = USUAL.gateways,
    days: DaysOption = USUAL.days,
    seed: SeedOption = USUAL.seed,
    start: StartOption = USUAL.start,
    interval: IntervalOption = USUAL.interval_s,
    gaps: GapsOption = USUAL.gaps_per_day,
    restarts: RestartsOption = USUAL.restarts_per_day,
    late: LateOption = USUAL.late,
    duplicates: DuplicatesOption = USUAL.duplicates,
    wraps: WrapsOption = USUAL.wraps,
) -> None:
    """Make a trace of many homes, with evenings, weekends, downloads, gaps, restarts, late and
    repeated records.
    """
    homes = traces.Homes(
        gateways=gateways,
        days=days,
        seed=seed,
        start=start,
        interval_s=interval,
        gaps_per_day=gaps,
        restarts_per_day=restarts,
        late=late,
        duplicates=duplicates,
        wraps=wraps,
    )
    records = traces.generate(homes)
    try:
        traces.write(records, file, homes)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error}") from None
    print(f"{file}: {len(records):,} records of {gateways:,} gateways, seed {seed}")


def answer(
    file: Annotated[Path, Argument(help="A trace.")],
    ledger: Annotated[
        Path | None, Option(help="Count only what this client's ledger calls acknowledged.")
    ] = None,
    version: Annotated[
        Version, Option(help="With a ledger: what the records say in this version.")
    ] = Version.COUNTER,
) -> None:
    """Show the exact answer: the busiest gateways of each day, and each day's total."""
    whole = traces.read(file)
    if ledger is None:
        traffic = answers.true_traffic(whole)
    else:
        records = answers.acked(whole, pl.read_parquet(ledger), version)
        traffic = answers.reported_traffic(version, records)
    exact = answers.answer(traffic)
    console = Console()
    for day, sent, received in exact.days.iter_rows():
        title = f"{_date(day)}: {_gigabytes(sent)} sent, {_gigabytes(received)} received"
        console.print(_day_table(exact, day, title))


def _day_table(exact: answers.Answer, day: int, title: str) -> Table:
    table = Table(title=title)
    for column in ("place", "sent most", "", "received most", ""):
        table.add_column(column, justify="right" if column in ("place", "") else "left")
    top_sent = exact.top_sent.filter(pl.col("day") == day).iter_rows()
    top_received = exact.top_received.filter(pl.col("day") == day).iter_rows()
    for sent, received in zip(top_sent, top_received, strict=True):
        _, place, sender, sent_bytes = sent
        _, _, receiver, received_bytes = received
        amounts = _gigabytes(sent_bytes), _gigabytes(received_bytes)
        table.add_row(str(place), sender, amounts[0], receiver, amounts[1])
    return table


def _date(day: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day)).strftime("%A %Y-%m-%d")


def _gigabytes(count: float) -> str:
    return f"{count / 1e9:,.1f} GB"
