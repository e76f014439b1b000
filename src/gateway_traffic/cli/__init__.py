"""The command line: the only place that prints or exits."""

from __future__ import annotations

import sys
from collections.abc import Callable

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
COMMANDS: dict[str, list[Callable[..., None]]] = {
    "All at once": [running.run],
    "Traces": [trace.trace, trace.answer],
    "Kafka and the ingest server": [servers.topics, servers.serve, servers.token, clients.send],
    "Spark jobs": [jobs.job, archives.batch, archives.train],
    "Results": [store.top, store.means, store.anomalies, auditing.watch, page.page],
    "Judging": [auditing.audit, auditing.latency, archives.agree],
}
"""The commands, by the heading that they have in --help."""

for heading, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=heading)(command)


def main() -> None:
    """Exit status: 0 done; 1 some records were not acknowledged; 3 a server or the machine failed;
    64 wrong usage.
    """
    try:
        app()
    except GatewayTrafficError as error:
        print(f"gateway-traffic: {error}", file=sys.stderr)
        sys.exit(WRONG_USAGE if isinstance(error, UsageError) else FAILED)
