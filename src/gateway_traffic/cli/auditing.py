"""Commands that watch a store and compare it with the exact answer."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from pathlib import Path
from typing import Annotated, NamedTuple, TextIO

import numpy as np
import polars as pl
from rich.console import Console
from typer import Argument, Exit, Option

from gateway_traffic import auditing, traces
from gateway_traffic.cli.jobs import StoreAddress, table_of
from gateway_traffic.errors import GatewayTrafficError, UsageError
from gateway_traffic.records import Version
from gateway_traffic.stores.opening import open_store
from gateway_traffic.stores.store import DayTotal, Top, TrafficStore

DIFFERS = 1
Ledgers = Annotated[list[Path], Option("--ledger", help="A client's ledger; may be repeated.")]
Counts = Annotated[Path, Option(help="CSV file of `watch --counts`.")]


class Looks(NamedTuple):
    """How often a watch looks at the store and shows it, and where it writes the busiest."""

    every_s: float
    show_every_s: float
    tops: Path | None


def watch(
    store: StoreAddress = "traffic.db",
    counts: Annotated[
        Path | None, Option(help="CSV file for the number of records in the store over time.")
    ] = None,
    every: Annotated[float, Option(help="Seconds between two looks.", min=0.01)] = 0.2,
    show_every: Annotated[float, Option(help="Least seconds between two tables.", min=0.0)] = 0.0,
    within: Annotated[float, Option(help="Seconds until the store must be there.")] = 120.0,
    tops: Annotated[
        Path | None, Option(help="Folder for the ten busiest gateways as two CSV files.")
    ] = None,
) -> None:
    """Show the ten busiest gateways whenever the store has changed, until stopped."""
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    with contextlib.ExitStack() as stack:
        opened = _wait_for_store(store, stopping, within)
        if opened is None:
            return
        stack.callback(opened.close)
        file = stack.enter_context(counts.open("w")) if counts else None
        _poll(opened, file, stopping, Looks(every, show_every, tops))


def _wait_for_store(store: str, stopping: threading.Event, within: float) -> TrafficStore | None:
    """The store once there is one; None if the user stopped waiting."""
    end = time.monotonic() + within
    while not stopping.wait(0.1):
        try:
            opened = open_store(store, read_only=True)
            opened.days()  # A file may be there before its tables are.
            return opened
        except GatewayTrafficError as error:
            if time.monotonic() > end:
                raise UsageError(
                    f"the store {store} was not there within {within:g} s: {error}"
                ) from None
    return None


def _poll(
    store: TrafficStore,
    file: TextIO | None,
    stopping: threading.Event,
    looks: Looks,
) -> None:
    console = Console()
    shown, shown_s = [DayTotal(0, 0.0, 0.0, 0)], 0.0
    if file:
        print(",".join(auditing.COUNTS), file=file, flush=True)
    while True:
        ended = stopping.wait(looks.every_s)
        days = store.days()
        if file:
            records = sum(day.records for day in days)
            print(f"{time.monotonic_ns()},{records}", file=file, flush=True)
        if days and days != shown and (ended or time.monotonic() - shown_s >= looks.show_every_s):
            day = _busiest(days, shown)
            console.print(table_of(store, day))
            if looks.tops:
                write_tops(looks.tops, store.top(day))
            shown, shown_s = days, time.monotonic()
        if ended:
            return


def write_tops(folder: Path, top: Top) -> None:
    """The ten busiest gateways of a day as two tables, replaced at once so that a reader never sees
    half of one.
    """
    for title, ranked in (("sent-most", top.sent), ("received-most", top.received)):
        table = pl.DataFrame(
            [(gateway_id, round(total / 1e9, 3)) for gateway_id, total in ranked],
            schema={"gateway": pl.String, "GB": pl.Float64},
            orient="row",
        )
        path = folder / f"table-gateways-that-{title}.csv"
        part = path.with_suffix(".part")
        table.write_csv(part)
        part.replace(path)


def _busiest(days: list[DayTotal], before: list[DayTotal]) -> int:
    """The day that gained most records."""
    held = {day.day: day.records for day in before}
    return max(days, key=lambda day: (day.records - held.get(day.day, 0), day.day)).day


def audit(
    trace: Annotated[Path, Argument(help="The trace that was sent.")],
    ledger: Ledgers,
    store: StoreAddress = "traffic.db",
    version: Annotated[Version, Option(help="What was sent.")] = Version.COUNTER,
) -> None:
    """Compare the store with the exact answer for the records that the ledgers call acknowledged.

    Exit status 1 if they differ.
    """
    opened = open_store(store, read_only=True)
    try:
        result = auditing.audit(traces.read(trace), auditing.read_ledgers(ledger), opened, version)
    finally:
        opened.close()
    print(result.says)
    if result.differences:
        raise Exit(DIFFERS)


P99Option = Annotated[
    float | None, Option(help="Seconds within which 99 of 100 records must be in the store.")
]
SentOption = Annotated[
    list[Path] | None, Option(help="A client's file of `send --sent`; may be repeated.")
]
SeenOption = Annotated[
    Path | None,
    Option(help="Parquet file for when the store held each record of the files of --sent."),
]
NameOption = Annotated[str, Option(help="The consumer in the file of --seen.")]


def latency(
    ledger: Ledgers,
    counts: Counts,
    p99: P99Option = None,
    sent: SentOption = None,
    seen: SeenOption = None,
    name: NameOption = "store",
) -> None:
    """Show how long records took from when they were due until the store had them.

    Exit status 1 if that is too long.
    """
    counted = _read_counts(counts)
    if seen:
        rows = auditing.seen_rows(auditing.read_ledgers(sent or []), counted, consumer=name)
        rows.write_parquet(seen)
    seconds, missing = auditing.latencies_s(auditing.read_ledgers(ledger), counted)
    if not len(seconds):
        raise UsageError("the watch saw none of the acknowledged records in the store")
    median, tail, longest = np.quantile(seconds, [0.5, 0.99, 1.0])
    limit = f"; limit p99 {p99:g} s" if p99 is not None else ""
    unseen = f"; {missing:,} were never seen there" if missing else ""
    print(
        f"due to store p50 {median:.2f} s, p99 {tail:.2f} s, max {longest:.2f} s over "
        f"{len(seconds):,} records{limit}{unseen}"
    )
    if missing or (p99 is not None and tail > p99):
        raise Exit(DIFFERS)


def _read_counts(path: Path) -> pl.DataFrame:
    try:
        return pl.read_csv(path, schema=auditing.COUNTS)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError(
            f"{path} is no file of `gateway-traffic watch --counts`: {error}"
        ) from None
