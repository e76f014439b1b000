"""Parse the arguments of `streambed shell`: which run, host and command they mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from streambed.errors import UsageError, suggestion
from streambed.results import runs
from streambed.results.runs import Run


def choose(words: Sequence[str], into: Path) -> tuple[Run, str, list[str]]:
    """The run, node and command of [RUN] HOST [COMMAND]; RUN defaults to the newest running one."""
    first = words[0]
    active = [run for run in runs.every(into) if run.state == "running"]
    newest = active[-1] if active else None
    newest_nodes = _node_names(newest) if newest else []
    if newest and first in newest_nodes:
        return newest, first, _command(words[1:])
    run = newest if first == "latest" else None
    if run is None:
        run = _find_run(first, into, newest_nodes)
    return run, _host(run, words), _command(words[2:])


def _host(run: Run, words: Sequence[str]) -> str:
    """The host of RUN HOST; UsageError if the run has ended or has no such host."""
    name = f"{run.name}/{run.directory.name}"
    if run.state != "running":
        raise UsageError(
            f"{name} does not run, it is {run.state}: hosts are there only while a run lasts"
        )
    nodes = _node_names(run)
    if len(words) < 2:
        raise UsageError(
            f"name a host of {name} as well: streambed shell {words[0]} HOST. "
            f"{suggestion('', nodes)}"
        )
    host = words[1]
    if host not in nodes:
        raise UsageError(f"{name} has no host '{host}'. {suggestion(host, nodes)}")
    return host


def _node_names(run: Run) -> list[str]:
    return [node.name for node in run.plan.nodes]


def _command(words: Sequence[str]) -> list[str]:
    command = list(words)
    if command[:1] == ["--"]:
        return command[1:]
    return command


def _find_run(word: str, into: Path, nodes: list[str]) -> Run:
    try:
        return runs.find(word, into)
    except UsageError:
        if not nodes:
            raise UsageError(
                f"No run called '{word}' in {into}/, and nothing is running now. `streambed shell` "
                "works only during a run."
            ) from None
        raise UsageError(
            f"there is neither a run '{word}' in {into}/ nor a host of that name in the newest "
            f"running one. {suggestion(word, nodes)}"
        ) from None
