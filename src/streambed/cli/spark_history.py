"""The command that starts Spark's history server: history."""

from __future__ import annotations

from typing import Annotated

import typer

from streambed.cli.options import IntoOption, RunArgument, err
from streambed.errors import ProcessError
from streambed.record import wait_until
from streambed.results import runs
from streambed.results.runs import RUNS
from streambed.runner.spark_history import history_server

LOOK_S, STEP_S = 3600.0, 0.2


def history(
    named: RunArgument = "latest",
    port: Annotated[
        int,
        typer.Option(
            "--port", min=0, max=65535, help="Where it listens on loopback; 0: any that is free."
        ),
    ] = 0,
    into: IntoOption = RUNS,
) -> None:
    """Show a run's Spark jobs in Spark's history server, until Ctrl-C."""
    with history_server(runs.find(named, into).directory, port) as (url, process):
        try:
            typer.echo(url)
            err.print("Spark's history server; Ctrl-C ends it")
            # Polled, because process.wait() does not notice a Ctrl-C that another thread receives.
            while not wait_until(lambda: process.poll() is not None, limit_s=LOOK_S, step_s=STEP_S):
                pass
        except KeyboardInterrupt:
            return
        raise ProcessError(
            f"Spark's history server ended by itself with status {process.returncode}"
        )
