"""Caps: which share of time a cap is, where groups can be made, and that they go."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streambed.declare.experiment import Experiment
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.errors import MachineError
from streambed.kinds.components import Command
from streambed.plan import Machine, Plan
from streambed.planner.planner import plan_for
from streambed.runner.cgroups import caps, hierarchies

GONE = 1 << 23
"""More than the number of any process."""


def capped(folder: Path, share: str = "10%", **limits: Any) -> Plan:
    topology = Topology(links=[Link(ends=("a", "b"))], cpu={"a": share})
    components = [
        Command(name=name, node=name, argv=["true"], limits=limits or None) for name in ("a", "b")
    ]
    experiment = Experiment(name="first", duration="10s", topology=topology, components=components)
    machine = Machine(
        cores=2, core_numbers=(0, 1), cpu_groups=str(folder), memory_groups=str(folder / "memory")
    )
    return plan_for(experiment, machine, base=Path("here"), directory=Path("runs/1"))


@pytest.mark.parametrize(
    ("share", "cores", "expected"),
    [
        (0.1, 2, (20_000, 100_000)),
        (1.0, 8, (800_000, 100_000)),
        (0.005, 2, (1_000, 100_000)),
        (0.001, 2, (1_000, 500_000)),
    ],
)
def test_a_share_is_of_all_cores_and_a_tiny_one_has_a_longer_period(
    share: float, cores: int, expected: tuple[int, int]
) -> None:
    assert caps.quota(share, cores) == expected


def test_a_share_below_what_the_kernel_grants_is_refused_with_the_least() -> None:
    with pytest.raises(
        MachineError,
        match=r"0\.0100% of 2 cores is too small for the kernel: give 0\.0500% or more",
    ):
        caps.quota(0.0001, 2)


def test_groups_are_made_beside_our_own_or_else_at_the_top_in_hierarchies_that_cap() -> None:
    mounts = (
        "cgroup /c/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"
        "cgroup /c/pids cgroup rw,pids 0 0\n"
        "cgroup2 /c/unified cgroup2 rw 0 0\n"
    )
    own = "5:pids:/x\n4:cpu,cpuacct:/mine\n1:name=systemd:/y\n0::/user.slice/run.scope\n"

    folders = hierarchies.candidates(mounts, own, "cpu")

    assert list(map(str, folders)) == [
        "/c/cpu,cpuacct/mine",
        "/c/cpu,cpuacct",
        "/c/unified/user.slice/run.scope",
        "/c/unified",
    ]


def test_every_process_of_a_capped_host_has_a_group_in_that_of_the_host_and_others_only_their_own(
    tmp_path: Path,
) -> None:
    groups, joins = caps.trees(capped(tmp_path, memory="64MiB", priority=5), owner=7)

    prefix = "streambed-7-first-1"
    memory = (
        "memory.limit_in_bytes=67108864 memory.memsw.limit_in_bytes?=67108864 memory.swappiness?=0"
    )
    assert {
        str(group.relative_to(tmp_path)): " ".join(f"{key}={value}" for key, value in files.items())
        for group, files in groups.items()
    } == {
        f"{prefix}-a": "cpu.cfs_period_us=100000 cpu.cfs_quota_us=20000",
        f"{prefix}-a/{prefix}-a-process": "cpu.shares=336",
        f"{prefix}-b-process": "cpu.shares=336",
        f"memory/{prefix}-a-process": memory,
        f"memory/{prefix}-b-process": memory,
    }
    assert joins["a"] == [
        f"{tmp_path}/{prefix}-a/{prefix}-a-process",
        f"{tmp_path}/memory/{prefix}-a-process",
    ]


def test_with_cgroup_v2_a_process_has_one_group_for_everything(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory")
    plan = capped(tmp_path, memory="64MiB", cpu="5%", priority=-5)
    plan = replace(plan, machine=replace(plan.machine, memory_groups=str(tmp_path)))

    groups, joins = caps.trees(plan, owner=7)

    assert groups[Path(joins["a"][0])] == {
        "cpu.max": "10000 100000",
        "cpu.weight.nice": "-5",
        "memory.max": "67108864",
        "memory.swap.max?": "0",
    }
    assert [len(joined) for joined in joins.values()] == [1, 1]


def test_a_command_joins_its_groups_before_it_begins(tmp_path: Path) -> None:
    groups = [tmp_path / "one", tmp_path / "two"]
    for group in groups:
        group.mkdir()
    command = caps.join_groups(
        [str(group) for group in groups], ["sh", "-c", 'exit "$1"', "sh", "7"]
    )

    status = os.waitstatus_to_exitcode(
        os.waitpid(pid := os.posix_spawn(command[0], command, {}), 0)[1]
    )

    assert (status, [(group / "cgroup.procs").read_text() for group in groups]) == (
        7,
        [f"{pid}\n"] * 2,
    )


def test_a_command_without_a_group_is_left_alone() -> None:
    assert caps.join_groups([], ("sleep", "1")) == ("sleep", "1")


@pytest.mark.parametrize(
    ("file", "text"),
    [("memory.events", "oom 4\noom_kill 2\n"), ("memory.oom_control", "under_oom 0\noom_kill 2\n")],
)
def test_the_kernel_says_how_many_it_killed_for_memory(
    tmp_path: Path, file: str, text: str
) -> None:
    (tmp_path / file).write_text(text)

    assert caps.memory_kills([str(tmp_path)]) == 2


def test_what_a_dead_run_left_goes_and_nothing_else(tmp_path: Path) -> None:
    dead, living, other = (
        tmp_path / name
        for name in (f"streambed-{GONE}-first-1-a", f"streambed-{os.getpid()}-first-2-a", "system")
    )
    for group in (dead, living, other):
        group.mkdir()

    caps.sweep(tmp_path)

    assert sorted(tmp_path.iterdir()) == sorted([living, other])


def test_a_plan_without_caps_is_left_alone() -> None:
    plan = plan_for(
        Experiment(name="first", duration="1s", topology=Topology(hosts=["a"]), components=[]),
        Machine(),
        base=Path("here"),
        directory=Path("runs/1"),
    )

    with caps.apply_caps(plan) as same:
        assert same == plan


@pytest.mark.kernel
def test_the_kernel_keeps_a_group_with_its_cap_while_it_is_applied(cpu_groups: str) -> None:
    with caps.apply_caps(capped(Path(cpu_groups))) as plan:
        (group,) = [Path(group) for spec in plan.processes for group in spec.groups]
        host = group.parent
        files = {
            name: (host / name).read_text().split()
            for name in ("cpu.max", "cpu.cfs_quota_us")
            if (host / name).exists()
        }

    assert [words[0] for words in files.values()] == ["20000"]
    assert caps.groups_of(plan) == [str(group), str(host)]
    assert not host.exists()
