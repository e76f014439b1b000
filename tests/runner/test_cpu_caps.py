"""Caps: how much time comes to which share, where groups can be made, and that they go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streambed.errors import MachineError
from streambed.experiment.link import Link
from streambed.experiment.model import Experiment
from streambed.experiment.topology import Topology
from streambed.plan import Machine, Plan
from streambed.planner import plan_for
from streambed.runner import cpu_caps

GONE = 1 << 23
"""More than the number of any process."""


def capped(folder: Path, share: str = "10%") -> Plan:
    topology = Topology(links=[Link(ends=("a", "b"))], cpu={"a": share})
    experiment = Experiment(name="first", duration="10s", topology=topology, components=[])
    return plan_for(experiment, Machine(cores=2, caps=str(folder)), base=Path("here"), directory=Path("runs/1"))


@pytest.mark.parametrize(
    ("share", "cores", "expected"),
    [(0.1, 2, (20_000, 100_000)), (1.0, 8, (800_000, 100_000)), (0.005, 2, (1_000, 100_000)), (0.001, 2, (1_000, 500_000))],
)
def test_a_share_is_of_all_cores_and_a_tiny_one_has_a_longer_period(share: float, cores: int, expected: tuple[int, int]) -> None:
    assert cpu_caps.quota(share, cores) == expected


def test_a_share_below_what_the_kernel_grants_is_refused_with_the_least() -> None:
    with pytest.raises(MachineError, match=r"0\.0100% of 2 cores is too small for the kernel: give 0\.0500% or more"):
        cpu_caps.quota(0.0001, 2)


def test_groups_are_made_beside_our_own_or_else_at_the_top_in_hierarchies_that_cap() -> None:
    mounts = "cgroup /c/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup /c/pids cgroup rw,pids 0 0\ncgroup2 /c/unified cgroup2 rw 0 0\n"
    own = "5:pids:/x\n4:cpu,cpuacct:/mine\n1:name=systemd:/y\n0::/user.slice/run.scope\n"

    found = cpu_caps.candidates(mounts, own)

    assert list(map(str, found)) == ["/c/cpu,cpuacct/mine", "/c/cpu,cpuacct", "/c/unified/user.slice/run.scope", "/c/unified"]


def test_a_command_joins_its_group_before_it_begins(tmp_path: Path) -> None:
    command = cpu_caps.joined(str(tmp_path), ["sh", "-c", "exit 7"])

    status = os.waitstatus_to_exitcode(os.waitpid(pid := os.posix_spawn(command[0], command, {}), 0)[1])

    assert (status, (tmp_path / "cgroup.procs").read_text()) == (7, f"{pid}\n")


def test_a_command_without_a_group_is_left_alone() -> None:
    assert cpu_caps.joined("", ("sleep", "1")) == ("sleep", "1")


def test_what_a_dead_run_left_goes_and_nothing_else(tmp_path: Path) -> None:
    dead, living, other = (tmp_path / name for name in (f"streambed-{GONE}-first-1-a", f"streambed-{os.getpid()}-first-2-a", "system"))
    for group in (dead, living, other):
        group.mkdir()

    with pytest.raises(MachineError, match="too small"), cpu_caps.applied(capped(tmp_path, "0.01%")):
        pass

    assert sorted(tmp_path.iterdir()) == sorted([living, other])


def test_a_plan_without_caps_is_left_alone() -> None:
    plan = plan_for(
        Experiment(name="first", duration="1s", topology=Topology(hosts=["a"]), components=[]),
        Machine(),
        base=Path("here"),
        directory=Path("runs/1"),
    )

    with cpu_caps.applied(plan) as same:
        assert same == plan


@pytest.mark.kernel
def test_the_kernel_keeps_a_group_with_its_cap_while_it_is_applied(caps: str) -> None:
    with cpu_caps.applied(capped(Path(caps))) as plan:
        group = Path(plan.node("a").group)
        files = {name: (group / name).read_text().split() for name in ("cpu.max", "cpu.cfs_quota_us") if (group / name).exists()}

    assert plan.node("b").group == ""
    assert [words[0] for words in files.values()] == ["20000"]
    assert not group.exists()
