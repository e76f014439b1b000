"""The command line: the only place that prints or exits."""

from __future__ import annotations

import sys

import typer

from gateway_traffic.cli import (
    archives,
    auditing,
    clients,
    jobs,
    page,
    running,
    servers,
    store,
    trace,
)
from gateway_traffic.errors import GatewayTrafficError, UsageError

WRONG_USAGE = 64
FAILED = 3

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Traffic of home gateways: make a trace, take it in through a server in front of Kafka, "
    "send it, and know the exact answer.\n\n"
    "A first round: `trace day.parquet`, `topics --bootstrap HOST:PORT`, "
    "`serve --bootstrap HOST:PORT`, "
    "`send day.parquet --ledger ledger.parquet`, `answer day.parquet --ledger ledger.parquet`.",
)
app.command()(trace.trace)
app.command()(servers.topics)
app.command()(servers.serve)
app.command()(servers.token)
app.command()(clients.send)
app.command()(trace.answer)
app.command()(jobs.job)
app.command()(store.top)
app.command()(store.means)
app.command()(store.anomalies)
app.command()(archives.batch)
app.command()(archives.agree)
app.command()(archives.train)
app.command()(auditing.watch)
app.command()(auditing.audit)
app.command()(auditing.latency)
app.command()(page.page)
app.command()(running.run)


def main() -> None:
    """Exit status: 0 done; 1 some records were not acknowledged; 3 a server or the machine failed;
    64 wrong usage.
    """
    try:
        app()
    except GatewayTrafficError as error:
        print(f"gateway-traffic: {error}", file=sys.stderr)
        sys.exit(WRONG_USAGE if isinstance(error, UsageError) else FAILED)
