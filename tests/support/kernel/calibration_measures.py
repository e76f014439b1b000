"""What calibration finds, and what control groups keep; `box.py` calls it inside a box."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from streambed import plan as plans
from streambed import record
from streambed.net.network import Network
from streambed.runner.cgroups import caps, hierarchies
from tests.support.kernel.link_measures import wire_of_a


def calibration(net: Network, *, rates: bool = False) -> dict[str, Any]:
    """What calibration records of every way."""
    from streambed.record.events import Calibrated, Event
    from streambed.runner.calibration.calibration import (
        calibrate,
    )  # Only here: the machine with netem lacks the libraries that it needs.

    ways: list[dict[str, Any]] = []

    def keep(event: Event) -> None:
        if isinstance(event, Calibrated):
            ways.extend(map(asdict, event.ways))

    started_with = plans.read(Path(sys.argv[1]))
    plan = replace(started_with, calibrates_rates=rates)
    world = SimpleNamespace(plan=plan, network=net, record=keep)
    world.watch_network = lambda: None
    world.rest_until = lambda time_ns: record.wait_until(
        lambda: record.now_ns() >= time_ns, limit_s=5
    )
    calibrate(world)  # type: ignore[arg-type]
    return {"ways": ways}


def calibration_of_a_wrong_link(net: Network) -> dict[str, Any]:
    """The same while the wire of a takes 15 ms, unlike its plan."""
    wire, ends = wire_of_a(net)
    wire.degrade(ends, {"delay_ns": 15_000_000})
    return calibration(net)


def calibration_of_rates(net: Network) -> dict[str, Any]:
    """The same with rates."""
    return calibration(net, rates=True)


def capped_by_v2(net: Network) -> dict[str, Any]:
    """What becomes of a process that needs more memory than its group has, at the top of cgroup v2
    and in a delegated group of our own.
    """
    top = Path("/sys/fs/cgroup")
    measured = {"top": _capped(hierarchies.find())}
    (top / "cgroup.subtree_control").write_text("+cpu +memory")
    (top / "scope").mkdir()
    (top / "scope" / "cgroup.procs").write_text(str(os.getpid()))
    measured["scope"] = _capped(hierarchies.find())
    measured["left"] = {
        "folders": sorted(path.name for path in top.rglob("streambed-*")),
        "own": Path("/proc/self/cgroup").read_text().strip(),
    }
    return measured


def _capped(folders: dict[Any, str]) -> dict[str, Any]:
    allowed = plans.Allowance(cpu=0.25, memory_bytes=32 << 20, priority=5)
    spec = plans.ProcessSpec(name="hog", component="hog", node="a", argv=(), allowance=allowed)
    machine = plans.Machine(cores=2, cpu_groups=folders["cpu"], memory_groups=folders["memory"])
    host = plans.PlannedNode(
        name="a", switch=False, address="10.0.0.1", routes=(), allowance=plans.Allowance(cpu=0.5)
    )
    plan = plans.Plan(
        name="v2",
        seed=1,
        duration_ns=0,
        ready_limit_ns=0,
        drain_limit_ns=0,
        directory="1",
        machine=machine,
        nodes=(host,),
        links=(),
        processes=(spec,),
        declaration={},
    )
    with caps.apply_caps(plan) as made:
        (group,) = made.processes[0].groups
        hog = os.fork()
        if hog == 0:
            Path(group, "cgroup.procs").write_text(str(os.getpid()))
            os._exit(len(bytearray(100 << 20).replace(bytes(1), bytes(1))) & 1)
        status = os.waitstatus_to_exitcode(os.waitpid(hog, 0)[1])
        files = {
            name: Path(group, name).read_text().strip()
            for name in ("cpu.max", "cpu.weight.nice", "memory.max")
        }
        return {"folders": folders, "status": status, "kills": caps.memory_kills([group]), **files}


MEASURES: dict[str, Callable[..., dict[str, Any]]] = {
    function.__name__: function
    for function in (
        calibration,
        calibration_of_a_wrong_link,
        calibration_of_rates,
        capped_by_v2,
    )
}
