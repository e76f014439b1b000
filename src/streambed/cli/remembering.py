"""The command that shows what Spark noted of its jobs: history."""

from __future__ import annotations

from typing import Annotated

import typer

from streambed import runs
from streambed.cli.screen import IntoOption, RunArgument, err
from streambed.errors import ProcessError
from streambed.runner.spark_history import history_server
from streambed.runs import RUNS


def history(
    named: RunArgument = "latest",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Where it listens on loopback; 0: any that is free.")] = 0,
    into: IntoOption = RUNS,
) -> None:
    """Open the event logs of a run's Spark jobs in Spark's own history server, on loopback, until Ctrl-C."""
    with history_server(runs.find(named, into).directory, port) as (url, process):
        typer.echo(url)
        err.print("Spark's history server; Ctrl-C ends it")
        try:
            process.wait()
        except KeyboardInterrupt:
            return
        raise ProcessError(f"Spark's history server ended by itself with status {process.returncode}")
