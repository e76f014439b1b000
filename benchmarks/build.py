"""How long it takes to build a network and until the kernel has freed it, compared with Mininet and
the same tree.

    scripts/bench build [--quick] [ROUNDS [SIZES]]     SIZES: numbers of hosts, such as 1000,2000

It times what a run does between reading its plan and starting programs: namespaces, links,
addresses, neighbours, routes, token buckets, packet rules, delay line. `seconds_100` is the median
for 100 hosts and 100 switches, `seconds_1000` for 1,000 and 1,000, every link with a delay and a
rate. A host's thread and mounts are made when its first program starts and are not included.
`plan_s` is the time of planning. `teardown_s` ends when the kernel has no network namespace of the
box any more, which is detected by creating one more than a limit of one allows. Mininet builds the
same tree from Linux bridges, without delays and rates; it needs root and is installed if it is
missing; it runs in a separate network namespace, so that nothing of it can remain. The last line is
one JSON object. `--quick`: one round of 10 hosts and 10 switches (`seconds_10`), without Mininet:
nothing is installed.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._arguments import parser
from streambed.net import box_entry, syscalls

if TYPE_CHECKING:
    from streambed import Experiment

NAMESPACES_MAX = Path("/proc/sys/user/max_net_namespaces")
FREED_LIMIT_S = 300
SYSTEM_PYTHON = "/usr/bin/python3"
BRANCHES = 4
PACKAGES = ("mininet", "bridge-utils")
MININET = """
import json, sys, time
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topo import Topo

switches, branches = map(int, sys.argv[1:])
topology = Topo()
for number in range(switches):
    topology.addSwitch(f"s{number}")
    topology.addLink(topology.addHost(f"h{number}"), f"s{number}")
    if number:
        topology.addLink(f"s{(number - 1) // branches}", f"s{number}")
Mininet.inited = True  # Else it would change settings of the whole machine.
began = time.monotonic()
net = Mininet(topology, switch=LinuxBridge, controller=None)
net.start()
built = time.monotonic()
net.stop()
print(json.dumps({"seconds": built - began, "teardown_s": time.monotonic() - built}))
"""


def parents(switches: int) -> list[int]:
    """The parent of each switch but the first."""
    return [(number - 1) // BRANCHES for number in range(1, switches)]


def tree(*, hosts: int, switches: int, duration: str = "1s") -> Experiment:
    """Switches in a tree, hosts spread over them, every link with a delay and a rate. An experiment
    needs a program, so one sleeps.
    """
    from streambed import Command, Experiment, Link, Topology

    to_hosts = [(f"h{number}", f"s{number % switches}") for number in range(hosts)]
    between = [(f"s{above}", f"s{number}") for number, above in enumerate(parents(switches), 1)]
    return Experiment(
        name="tree",
        duration=duration,
        topology=Topology(
            switches=[f"s{number}" for number in range(switches)],
            links=[Link(ends=ends, delay="1ms", rate="1Gbit") for ends in to_hosts + between],
        ),
        components=[Command(name="sleeper", node="h0", argv=["sleep", "3600"])],
    )


def inside(plan_path: str, folder: str) -> None:
    """In a new process: enter a box, build, leave, and wait until everything is freed."""
    box_entry.enter_namespaces()
    first = os.fork()
    if first:
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
    box_entry.settle_as_first()
    from streambed import plan  # Imported late because some of these modules start threads.
    from streambed.net.network import network

    decided = plan.read(Path(plan_path))
    began = time.monotonic()
    with network(decided, Path(folder)) as net:
        seconds = time.monotonic() - began
        assert len(net.hosts) == len(decided.nodes)
        began = time.monotonic()
    closed_s = time.monotonic() - began
    wait_until_freed()
    print(
        json.dumps(
            {"seconds": seconds, "close_s": closed_s, "teardown_s": time.monotonic() - began}
        )
    )


def wait_until_freed() -> None:
    """With a limit of the box's own namespace and one more, creating one succeeds as soon as all
    others are freed.
    """
    NAMESPACES_MAX.write_text("2")
    got: list[bool] = []

    def ask() -> None:
        try:
            syscalls.unshare(syscalls.CLONE_NEWNET)
            got.append(True)
        except OSError:
            time.sleep(0.005)

    end = time.monotonic() + FREED_LIMIT_S
    while not got and time.monotonic() < end:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert got, f"network namespaces were still there after {FREED_LIMIT_S} s"


def ours(hosts: int) -> dict[str, float]:
    """Plan, build and leave one tree with as many switches as hosts."""
    from streambed import plan
    from streambed.net import machine
    from streambed.planner.planner import plan_for

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        experiment = tree(hosts=hosts, switches=hosts)
        began = time.monotonic()
        decided = plan_for(experiment, machine.examine(), base=folder, directory=folder)
        plan_s = time.monotonic() - began
        plan.write(decided, folder / "plan.json")
        argv = [sys.executable, "-m", "benchmarks.build", "inside", str(folder / "plan.json"), name]
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = {"plan_s": plan_s, **json.loads(done.stdout)}
    print(
        f"{hosts} hosts, {hosts} switches: "
        + ", ".join(f"{key} {value:.3f}" for key, value in figures.items())
    )
    return figures


def mininet(switches: int) -> dict[str, Any]:
    """Times of Mininet for the same tree; {"lacks": reason} where it cannot run."""
    if os.geteuid():
        return {"lacks": "Mininet needs root"}
    if not (shutil.which("mn") and shutil.which("brctl")):
        installed = subprocess.run(
            ["apt-get", "install", "-y", "--no-install-recommends", *PACKAGES],
            capture_output=True,
            text=True,
        )
        if installed.returncode:
            last_line = installed.stderr.strip().splitlines()[-1:]
            return {"lacks": f"apt-get could not install Mininet: {last_line}"}
    argv = ["unshare", "--net", SYSTEM_PYTHON, "-c", MININET, str(switches), str(BRANCHES)]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        last_line = done.stderr.strip().splitlines()[-1:]
        return {"lacks": f"Mininet ended with status {done.returncode}: {last_line}"}
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"mininet, {switches} hosts, {switches} switches: build {figures['seconds']:.2f} s, "
        f"teardown {figures['teardown_s']:.2f} s"
    )
    return figures


def main(rounds: int, sizes: list[int]) -> None:
    """Rounds of 100 alternating with Mininet, then the larger sizes once each."""
    small = [ours(100) for _ in range(rounds)]
    theirs = mininet(100)
    small += [ours(100) for _ in range(rounds)]
    measured = figures(100, small, theirs)
    for size in sizes:
        times = ours(size)
        measured |= {
            f"{key}_{size}": round(times[key], 2) for key in ("seconds", "plan_s", "teardown_s")
        }
    print(json.dumps(measured))


def figures(size: int, small: list[dict[str, float]], theirs: dict[str, Any]) -> dict[str, Any]:
    """The figures of one size, with those of Mininet."""
    middle = {key: round(statistics.median(one[key] for one in small), 3) for key in small[0]}
    seconds = middle["seconds"]
    measured: dict[str, Any] = {"bench": "build", "rounds": len(small), f"seconds_{size}": seconds}
    measured |= {
        f"slowest_{size}": round(max(one["seconds"] for one in small), 3),
        f"plan_s_{size}": middle["plan_s"],
    }
    measured |= {"teardown_s": middle["teardown_s"], "close_s": middle["close_s"]}
    measured |= {
        "mininet_s": round(theirs["seconds"], 2) if "seconds" in theirs else None,
        "mininet_lacks": theirs.get("lacks"),
    }
    measured["ratio_mininet"] = (
        round(seconds / theirs["seconds"], 4) if "seconds" in theirs else None
    )
    measured["mininet_teardown_s"] = round(theirs["teardown_s"], 2) if "seconds" in theirs else None
    return measured


def quick() -> None:
    """The smallest form: one small tree; nothing is installed."""
    print(json.dumps(figures(10, [ours(10)], {"lacks": "left out"})))


if __name__ == "__main__":
    if sys.argv[1:2] == ["inside"]:
        inside(*sys.argv[2:])
    else:
        words = parser(__doc__, quick="10 hosts and 10 switches once, without Mininet")
        words.add_argument("rounds", nargs="?", type=int, default=3)
        words.add_argument("sizes", nargs="?", default="1000")
        asked = words.parse_args()
        if asked.quick:
            quick()
        else:
            main(asked.rounds, [int(size) for size in asked.sizes.split(",")])
