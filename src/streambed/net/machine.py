"""What this machine can emulate, found by trying.

A fresh process (`python -m streambed.net.machine`) enters the namespaces that a run would enter,
and tries there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import streambed
from streambed import record
from streambed.errors import MachineError
from streambed.net import box_entry, shaping
from streambed.net.netlink import netlink, nfnetlink, rtnetlink
from streambed.net.netlink.rtnetlink import End
from streambed.net.tampering import probe
from streambed.plan import Machine, Means, Port, Shape

PROBE_LIMIT_S = 20
_ENDS = (
    Port(node="probe", interface="probe0", index=10),
    Port(node="probe", interface="probe1", index=11),
)
_LIMITS = "delay, jitter, loss and cuts"


@dataclass
class Findings:
    """The results of the probe; `refusals` are the kernel's messages."""

    namespaces: bool = False
    tbf: bool = False
    netem: bool = False
    arrivals: bool = False
    queue: bool = False
    filter: bool = False
    clock_refusal: str = "it was not tried"
    sync_refusal: str = "it was not tried"
    refusals: list[str] = field(default_factory=list)


def examine(remembered: Path | None = None) -> Machine:
    """Probe what this machine can emulate. It never raises: a machine may support nothing.

    The result is valid until the next boot: with a file to cache it in, only the first call after
    a boot probes.
    """
    findings = _recall(remembered) if remembered else _ask_probe()
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        core_numbers=tuple(sorted(os.sched_getaffinity(0))),
        memory_mib=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
        kernel=os.uname().release,
        namespaces=findings.namespaces,
        means=means_of(findings),
        shaping=findings.tbf,
        filtering=findings.filter,
        arrivals=findings.arrivals,
        clock_refusal=findings.clock_refusal,
        sync_refusal=findings.sync_refusal,
        python=sys.executable,
        notes=notes_of(findings),
    )


def means_of(findings: Findings) -> Means:
    """netem where the kernel has it: it costs less than a process that is woken for every
    packet.
    """
    return "netem" if findings.netem else "delay_line" if findings.queue else "none"


def notes_of(findings: Findings) -> tuple[str, ...]:
    """Warnings about this machine for the user, one sentence each."""
    if not findings.namespaces:
        return tuple(findings.refusals)
    on_arrival = (
        "this kernel cannot redirect what arrives: "
        "a host that fills its own link fills that link's queue too; try: sudo modprobe"
    )
    by = {
        "netem": ()
        if findings.arrivals
        else (f"{on_arrival} -a ifb sch_ingress cls_matchall act_mirred",),
        "delay_line": (f"this kernel has no netem: {_LIMITS} go through the delay line",),
        "none": (
            f"this kernel has neither netem nor NFQUEUE: {_LIMITS} are refused; try: sudo modprobe "
            "sch_netem",
            *findings.refusals,
        ),
    }
    rates = (
        ()
        if findings.tbf
        else ("this kernel has no token bucket: rates are refused; try: sudo modprobe sch_tbf",)
    )
    walls = (
        ()
        if findings.filter
        else (
            "this kernel has no packet rules (nf_tables): partitions are refused; try: sudo "
            "modprobe nf_tables",
        )
    )
    return (*by[means_of(findings)], *rates, *walls)


def _recall(file: Path) -> Findings:
    """What an earlier call found in this boot for this user; a machine that lacks something is
    tried again, it may have been mended.
    """
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    place = f"{boot_id} {os.getuid()} {sorted(vars(Findings()))}"
    cached = record.read_json(file)
    if cached.get("place") == place:
        return Findings(**cached["findings"])
    findings = _ask_probe()
    delays = findings.arrivals if findings.netem else findings.queue
    tampers = not findings.clock_refusal and not findings.sync_refusal
    if findings.namespaces and findings.tbf and findings.filter and delays and tampers:
        file.parent.mkdir(parents=True, exist_ok=True)
        record.write_whole(file, json.dumps({"place": place, "findings": vars(findings)}))
    return findings


def _ask_probe() -> Findings:
    root = str(Path(streambed.__file__).parents[1])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_LIMIT_S,
        )
        return Findings(**json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return Findings(
            refusals=[f"the probe of this machine did not end within {PROBE_LIMIT_S} s"]
        )
    except json.JSONDecodeError:
        return Findings(refusals=[f"the probe of this machine died: {done.stderr.strip()[-300:]}"])


def _probe() -> Findings:
    """Called in process 1 of a new box."""
    findings = Findings()
    try:
        box_entry.settle_as_first()
        findings.namespaces = True
        here = os.open("/proc/self/ns/net", os.O_RDONLY)
        near, far = (End(port=port, address="10.0.0.1", namespace=here) for port in _ENDS)
        netlink.send([rtnetlink.veth(near, far), *map(rtnetlink.up, _ENDS)])
    except MachineError as error:
        return Findings(refusals=[str(error)])
    findings.tbf = _tries(
        findings, lambda: netlink.send([rtnetlink.tbf(_ENDS[0], shaping.bucket(10_000_000))])
    )
    findings.netem = _tries(
        findings, lambda: netlink.send([rtnetlink.netem(_ENDS[1], Shape(delay_ns=1_000_000))])
    )
    findings.arrivals = findings.netem and _tries(
        findings, lambda: netlink.send(rtnetlink.detour(_ENDS[0]))
    )
    rule = nfnetlink.QueueRule(node="probe", hook="postrouting", interface="probe0", number=1)
    findings.queue = _tries(findings, lambda: nfnetlink.add_rules([rule]))
    findings.filter = _tries(
        findings, lambda: netlink.send(nfnetlink.wall("probe", ["10.0.0.1"]), netlink.NETFILTER)
    )
    findings.clock_refusal = probe.clock_refusal()
    findings.sync_refusal = probe.sync_refusal()
    return findings


def _tries(findings: Findings, attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except MachineError as error:
        findings.refusals.append(str(error))
        return False
    return True


def main() -> None:
    """Write the findings as JSON."""
    try:
        box_entry.enter_namespaces()
    except MachineError as error:
        sys.stdout.write(json.dumps(vars(Findings(refusals=[str(error)]))))
        return
    first = os.fork()
    if first == 0:
        sys.stdout.write(json.dumps(vars(_probe())))
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(first, 0)


if __name__ == "__main__":
    main()
