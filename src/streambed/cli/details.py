"""The commands topics and why: the Kafka clusters of a run, and one record of it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from streambed.cli.options import IntoOption, RunArgument, out
from streambed.cli.studies import print_aligned
from streambed.results import runs
from streambed.results.kafka_state import group_table, partition_table, readable
from streambed.results.runs import RUNS

RecordArgument = Annotated[
    str,
    typer.Argument(
        help="The record: PRODUCER=NUMBER, as verdicts name it, or TOPIC/PARTITION@OFFSET.",
        show_default=False,
    ),
]


def topics(
    run: RunArgument = "latest",
    into: IntoOption = RUNS,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show topics, partitions, leaders, replicas in sync, consumer groups and lag of a run.

    During the run, leaders and replicas are at most a second old; groups are those of its start.
    """
    history = runs.find(run, into).history()
    partitions, groups = partition_table(history), group_table(history)
    if as_json:
        typer.echo(f'{{"partitions":{partitions.write_json()},"groups":{groups.write_json()}}}')
        return
    if partitions.is_empty():
        out.print(escape(f"{run}: no Kafka cluster has been ready yet, or none is declared"))
        return
    for table, texts in ((partitions, 5), (groups, 3)):
        if not table.is_empty():
            shown = readable(table)
            lines = [[_text(value) for value in row] for row in shown.iter_rows()]
            print_aligned(shown.columns, lines, texts=texts)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def why(run: RunArgument, record: RecordArgument, into: IntoOption = RUNS) -> None:
    """Show what happened to one record: when it was sent, who read it, and how it was lost.

    RUN is a name, a folder or latest. Times are seconds since the load began.
    """
    journey, lines = runs.find(run, into).why(record)
    out.print(f"[bold]{escape(str(journey.record))}[/bold]")
    for seconds, text in lines:
        time = "after" if seconds is None else f"{seconds:.3f}"
        out.print(escape(f"  {time:>9}  {text}"))
    if journey.mechanism:
        out.print(escape(f"lost because {journey.mechanism}"))
