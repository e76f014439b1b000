"""Examine a machine: what a run needs, what is missing, and how to mend it."""

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
class Finding:
    """The result of one check; `mend` says what to do if it is not good."""

    what: str
    good: bool
    says: str
    mend: str = ""
    optional: bool = False


def examine() -> list[Finding]:
    """Check everything that a run needs."""
    this_machine = machine.examine()
    network = [*_network(this_machine), *_delay_line(this_machine), _size(this_machine)]
    return [*network, _disk(), _java(), *_artifacts(), *_caps(), _browser()]


def _network(found: Machine) -> list[Finding]:
    why = " ".join(found.notes)
    if not found.namespaces:
        return [
            Finding(
                what="namespaces", good=False, says="this user may not make namespaces", mend=why
            )
        ]
    ways = {
        "netem": "by the kernel's netem",
        "delay_line": "by the delay line (NFQUEUE): this kernel has no netem",
        "none": "not available",
    }
    return [
        Finding(what="namespaces", good=True, says=f"kernel {found.kernel}, no root needed"),
        Finding(
            what="delay, loss",
            good=found.means != "none",
            says=ways[found.means],
            mend=why if found.means == "none" else "",
        ),
        Finding(
            what="rate",
            good=found.shaping,
            says="by tbf" if found.shaping else "not available",
            mend="" if found.shaping else why,
        ),
    ]


def _delay_line(found: Machine) -> list[Finding]:
    """Whether the delay line can run in real time, where it is used."""
    if found.means != "delay_line":
        return []
    good = realtime.is_allowed()
    says = (
        "runs in real time"
        if good
        else "runs with short slices: on a busy machine it may be some milliseconds late"
    )
    return [
        Finding(
            what="delay line",
            good=good,
            says=says,
            mend="" if good else realtime.ALLOW,
            optional=True,
        )
    ]


def _size(found: Machine) -> Finding:
    good = found.memory_mib >= MEMORY_MIB_MIN
    return Finding(
        what="machine",
        good=good,
        says=f"{found.cores} cores, {found.memory_mib} MiB",
        mend="" if good else "a broker and a Spark job need 2 GiB",
    )


def _disk() -> Finding:
    free_gib = shutil.disk_usage(Path.cwd()).free >> 30
    good = free_gib >= FREE_GIB_MIN
    return Finding(
        what="disk",
        good=good,
        says=f"{free_gib} GiB free here",
        mend="" if good else "free some space, or run with --into on another disk",
    )


def _java() -> Finding:
    try:
        java = artifacts.find_java()
    except StreambedError as error:
        return Finding(what="java", good=False, says="none", mend=str(error))
    return Finding(
        what="java", good=True, says="; ".join([f"{java.version} at {java.path}", *java.notes])
    )


def _artifacts() -> list[Finding]:
    """Jars, and artifacts of kinds from other packages."""
    findings = []
    for need in needs_of(COMPONENTS):
        if not isinstance(need, str):
            findings.append(_artifact(need))
        elif need in artifacts.LOCKS:
            findings.append(_jars(need))
    return findings


def _jars(name: str) -> Finding:
    try:
        count = len(artifacts.jars(name))
    except MissingError as error:
        return _missing(name, error)
    return Finding(what=name, good=True, says=f"{count} jars in the cache, checksums right")


def _artifact(need: artifacts.Artifact) -> Finding:
    try:
        need.demand()
    except MissingError as error:
        return _missing(need.name, error)
    return Finding(what=need.name, good=True, says="ready")


def _missing(name: str, error: MissingError) -> Finding:
    optional = name not in ALWAYS
    return Finding(what=name, good=False, says=error.what, mend=error.command, optional=optional)


def _caps() -> list[Finding]:
    found = []
    for controller, folder in hierarchies.find().items():
        says = (
            f"by control groups in {folder}"
            if folder
            else "this user may not make control groups with such a cap"
        )
        mend = "" if folder else f"to cap it, {DELEGATE}"
        found.append(
            Finding(
                what=f"{controller} caps", good=bool(folder), says=says, mend=mend, optional=True
            )
        )
    return found


def _browser() -> Finding:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), "")
    mend = (
        ""
        if found
        else "any browser shows the report; a chromium on PATH lets the tests look at it"
    )
    return Finding(
        what="browser", good=bool(found), says=found or "none on PATH", mend=mend, optional=True
    )
