"""Check a machine: what a run needs, what is missing, and how to fix it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from streambed import artifacts
from streambed.errors import MissingError, StreambedError
from streambed.kinds.tables import COMPONENTS, needs_of
from streambed.net import machine, realtime
from streambed.plan import Machine
from streambed.planner.limits import DELEGATE
from streambed.runner.cgroups import hierarchies

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FREE_GIB_MIN = 2
MEMORY_MIB_MIN = 2048


ALWAYS = ("kafka", "spark_job")
"""What most experiments need; the jars of stores are optional."""


@dataclass(frozen=True, kw_only=True)
class MachineCheck:
    """The result of one check; `mend` says what to do if it is not good."""

    what: str
    good: bool
    says: str
    mend: str = ""
    optional: bool = False


def examine() -> list[MachineCheck]:
    """Check everything that a run needs."""
    this_machine = machine.examine()
    network = [*_network(this_machine), *_delay_line(this_machine), _size(this_machine)]
    return [
        *network,
        *_tampering(this_machine),
        *_faults(this_machine),
        _disk(),
        _java(),
        *_artifacts(),
        *_caps(),
        _browser(),
    ]


def _network(machine: Machine) -> list[MachineCheck]:
    why = " ".join(machine.notes)
    if not machine.namespaces:
        says = "this user may not make namespaces"
        return [MachineCheck(what="namespaces", good=False, says=says, mend=why)]
    means = {
        "netem": "by the kernel's netem",
        "delay_line": "by the delay line (NFQUEUE): this kernel has no netem",
        "none": "not available",
    }
    return [
        MachineCheck(what="namespaces", good=True, says=f"kernel {machine.kernel}, no root needed"),
        MachineCheck(
            what="delay, loss",
            good=machine.means != "none",
            says=means[machine.means],
            mend=why if machine.means == "none" else "",
        ),
        MachineCheck(
            what="rate",
            good=machine.shaping,
            says="by tbf" if machine.shaping else "not available",
            mend="" if machine.shaping else why,
        ),
    ]


def _delay_line(machine: Machine) -> list[MachineCheck]:
    """Whether the delay line can run in real time, where it is used."""
    if machine.means != "delay_line":
        return []
    if realtime.is_allowed():
        return [
            MachineCheck(what="delay line", good=True, says="real-time priority: delays are exact")
        ]
    says = "no real-time priority: delays may be a few ms too long when the CPU is busy"
    return [
        MachineCheck(what="delay line", good=False, says=says, mend=realtime.ALLOW, optional=True)
    ]


def _tampering(machine: Machine) -> list[MachineCheck]:
    """Which faults inside processes are possible; they were tried on a child process."""
    refusals = {"clock skew": machine.clock_refusal, "sync faults": machine.sync_refusal}
    return [
        MachineCheck(
            what=what,
            good=not refusal,
            says="not available" if refusal else "tried on a process of this user",
            mend=refusal,
            optional=True,
        )
        for what, refusal in refusals.items()
    ]


def _faults(machine: Machine) -> list[MachineCheck]:
    """Which faults depend on the kernel, and how they are done."""
    jams, partitions = machine.means == "delay_line", machine.filtering
    slows = "by control groups" if machine.cpu_groups else "by stopping a process again and again"
    return [
        MachineCheck(
            what="jam",
            good=jams,
            says="packets are held by the delay line" if jams else "not available",
            mend="" if jams else "only the delay line can hold packets: use cut or degrade",
            optional=True,
        ),
        MachineCheck(
            what="partition",
            good=partitions,
            says="by packet rules of each host" if partitions else "not available",
            mend="" if partitions else "the kernel lacks nf_tables: load or enable it",
            optional=True,
        ),
        MachineCheck(what="slow_cpu", good=True, says=slows),
    ]


def _size(machine: Machine) -> MachineCheck:
    good = machine.memory_mib >= MEMORY_MIB_MIN
    return MachineCheck(
        what="machine",
        good=good,
        says=f"{machine.cores} cores, {machine.memory_mib} MiB",
        mend="" if good else "a broker and a Spark job need 2 GiB",
    )


def _disk() -> MachineCheck:
    free_gib = shutil.disk_usage(Path.cwd()).free >> 30
    good = free_gib >= FREE_GIB_MIN
    return MachineCheck(
        what="disk",
        good=good,
        says=f"{free_gib} GiB free here",
        mend="" if good else "free some space, or run with --into on another disk",
    )


def _java() -> MachineCheck:
    try:
        java = artifacts.find_java()
    except StreambedError as error:
        return MachineCheck(what="java", good=False, says="none", mend=str(error))
    return MachineCheck(
        what="java", good=True, says="; ".join([f"{java.version} at {java.path}", *java.notes])
    )


def _artifacts() -> list[MachineCheck]:
    """What is fetched: jars, servers, and artifacts of kinds from other packages."""
    needs = needs_of(COMPONENTS)
    return [find_artifact(need) for need in needs if need not in artifacts.FOUND]


def find_artifact(need: artifacts.Need) -> MachineCheck:
    """Whether a run that needs an artifact would find it."""
    name = artifacts.name_of(need)
    try:
        artifacts.demand(need)
    except MissingError as error:
        optional = name not in ALWAYS
        return MachineCheck(
            what=name, good=False, says=error.what, mend=error.command, optional=optional
        )
    return MachineCheck(what=name, good=True, says=_where_it_is(name))


def _where_it_is(name: str) -> str:
    if name in artifacts.UNPACKED:
        return f"in {artifacts.server_home(name)}"
    if name in artifacts.LOCKS:
        return f"{len(artifacts.jars(name))} jars in the cache, checksums right"
    return "ready"


def _caps() -> list[MachineCheck]:
    findings = []
    for controller, folder in hierarchies.find().items():
        what = f"{controller} caps"
        if folder:
            says = f"by control groups in {folder}"
            findings.append(MachineCheck(what=what, good=True, says=says, optional=True))
        else:
            says = "this user may not make control groups with such a cap"
            mend = f"to cap it, {DELEGATE}"
            findings.append(
                MachineCheck(what=what, good=False, says=says, mend=mend, optional=True)
            )
    return findings


def _browser() -> MachineCheck:
    for path in map(shutil.which, BROWSERS):
        if path:
            return MachineCheck(what="browser", good=True, says=path, optional=True)
    mend = "any browser shows the report; a chromium on PATH lets the tests look at it"
    return MachineCheck(what="browser", good=False, says="none on PATH", mend=mend, optional=True)
