"""Parse the arguments of `streambed shell`: which run, host and command they mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from streambed.errors import UsageError, suggestion
from streambed.results import runs
from streambed.results.runs import Run


def choose(words: Sequence[str], into: Path) -> tuple[Run, str, list[str]]:
    """The run, node and command of [RUN] HOST [COMMAND]; RUN defaults to the newest running one."""
    active = [run for run in runs.every(into) if run.state == "running"]
    newest = active[-1] if active else None
    nodes = [node.name for node in newest.plan.nodes] if newest else []
    if newest and words[0] in nodes:
        return newest, words[0], _command(words[1:])
    run = newest if newest and words[0] == "latest" else _find_run(words[0], into, nodes)
    if run.state != "running":
        raise UsageError(
            f"{run.name}/{run.directory.name} does not run, it is {run.state}: hosts are there "
            "only while a run lasts"
        )
    known = [node.name for node in run.plan.nodes]
    if len(words) < 2:
        raise UsageError(
            f"name a host of {run.name}/{run.directory.name} as well: streambed shell {words[0]} "
            f"HOST. {suggestion('', known)}"
        )
    if words[1] not in known:
        raise UsageError(
            f"{run.name}/{run.directory.name} has no host '{words[1]}'. "
            f"{suggestion(words[1], known)}"
        )
    return run, words[1], _command(words[2:])


def _command(words: Sequence[str]) -> list[str]:
    return list(words[1:] if words[:1] in (["--"], ("--",)) else words)


def _find_run(word: str, into: Path, nodes: list[str]) -> Run:
    try:
        return runs.find(word, into)
    except UsageError:
        if not nodes:
            raise UsageError(
                f"there is no run '{word}' in {into}/, and none is running: hosts are there only "
                "while a run lasts"
            ) from None
        raise UsageError(
            f"there is neither a run '{word}' in {into}/ nor a host of that name in the newest "
            f"running one. {suggestion(word, nodes)}"
        ) from None
