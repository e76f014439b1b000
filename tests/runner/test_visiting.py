"""Which run, which host and which command are meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streambed import plan
from streambed.declare.experiment import Experiment
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.errors import UsageError, WorldError
from streambed.plan import Machine
from streambed.planner.planner import plan_for
from streambed.record.status import begin, conclude
from streambed.runner.visits import shell
from streambed.runner.visits.namespaces import command_on


def kept(into: Path, name: str, stamp: str, *, running: bool) -> Path:
    directory = into / name / stamp
    directory.mkdir(parents=True)
    topology = Topology(links=[Link(ends=("edge", "office"))])
    experiment = Experiment(name=name, duration="1s", topology=topology, components=[])
    plan.write(
        plan_for(experiment, Machine(), base=Path(), directory=directory), directory / "plan.json"
    )
    begin(directory, os.getpid())
    if not running:
        conclude(directory, "finished", "")
    return directory


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["edge"], ("new/2", "edge", [])),
        (["edge", "ls", "-l"], ("new/2", "edge", ["ls", "-l"])),
        (["edge", "--", "ls"], ("new/2", "edge", ["ls"])),
        (["latest", "office"], ("new/2", "office", [])),
        (["old/1", "office", "ls"], ("old/1", "office", ["ls"])),
    ],
)
def test_without_a_run_it_is_the_newest_active_one(
    tmp_path: Path, words: list[str], expected: tuple[str, str, list[str]]
) -> None:
    kept(tmp_path, "old", "1", running=True)
    kept(tmp_path, "new", "2", running=True)
    kept(tmp_path, "newest", "3", running=False)

    run, node, command = shell.choose(words, tmp_path)

    assert (f"{run.name}/{run.directory.name}", node, command) == expected


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["newest", "edge"],
            "newest/3 does not run, it is finished: hosts are there only while a run lasts",
        ),
        (["latest", "egde"], "new/2 has no host 'egde'. Did you mean 'edge'?"),
        (["egde"], "nor a host of that name in the newest running one. Did you mean 'edge'?"),
        (
            ["latest"],
            "name a host of new/2 as well: streambed shell latest HOST. Known: edge, office.",
        ),
    ],
)
def test_what_is_not_there_is_said_with_what_may_be_meant(
    tmp_path: Path, words: list[str], says: str
) -> None:
    kept(tmp_path, "new", "2", running=True)
    kept(tmp_path, "newest", "3", running=False)

    with pytest.raises(UsageError) as caught:
        shell.choose(words, tmp_path)

    assert says in str(caught.value)


def test_without_any_run_nothing_can_be_entered(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"nothing is running now\. `streambed shell` works only during"
    ):
        shell.choose(["edge"], tmp_path)


def test_a_run_whose_network_is_not_built_yet_asks_for_a_moment(tmp_path: Path) -> None:
    kept(tmp_path, "new", "2", running=True)
    run, node, _ = shell.choose(["edge"], tmp_path)

    with pytest.raises(WorldError, match="still being built: try again in a moment"):
        command_on(run.directory, node, ["ls"])
