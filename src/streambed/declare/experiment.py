"""The experiment: components on the nodes of a topology, faults on a timeline, and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from streambed.declare.capture import Capture
from streambed.declare.topology import Topology
from streambed.errors import DeclarationError, Problem, suggestion
from streambed.kinds.check_table import CHECKS
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.declaring import Name, declared
from streambed.kinds.tables import COMPONENTS, FAULTS
from streambed.planner import placement
from streambed.planner.expose import expose_problems
from streambed.planner.references import reference_problems
from streambed.planner.routing import Routing
from streambed.planner.shapes import change_problems, read_samples
from streambed.units import Duration

RESERVED_COMPONENTS = ("capture", "conductor", "run", "self", "witness")

if TYPE_CHECKING:
    from streambed.kinds.checks.check import Check
    from streambed.kinds.components.component import Component
    from streambed.kinds.faults.fault import Fault
else:
    Component = Annotated[reduce(or_, COMPONENTS.values()), Field(discriminator="kind")]
    Fault = Annotated[reduce(or_, FAULTS.values()), Field(discriminator="kind")]
    Check = Annotated[reduce(or_, CHECKS.values()), Field(discriminator="kind")]


def _by_name(found: Any) -> Any:
    """A mapping whose entries get their key as name, or a list of components, as the mapping that
    an experiment keeps.
    """
    if isinstance(found, Mapping):
        return {
            name: {"name": name, **body} if isinstance(body, Mapping) else body
            for name, body in found.items()
        }
    if not isinstance(found, (list, tuple)) or not all(
        hasattr(component, "name") for component in found
    ):
        return found
    named = {component.name: component for component in found}
    if len(named) < len(found):
        raise ValueError("two components have the same name")
    return named


@declared
class Experiment:
    """What runs where, on which network, what breaks when, and what must hold."""

    version: Literal[1] = 1
    """The version of this format. A file must give it."""
    name: Name
    """Runs are kept in a folder of this name."""
    duration: Duration
    """How long the load lasts; faults are counted from its start."""
    seed: Annotated[int, Field(strict=True)] = 1
    """What is drawn at random is drawn from it, so that a run can be repeated."""
    topology: Topology
    """The network."""
    place: Placed = None
    """How the hosts of components are chosen that name none and have no rule of their own."""
    components: Annotated[dict[Name, Component], BeforeValidator(_by_name)]
    """What runs on its nodes, by name."""
    faults: tuple[Fault, ...] = ()
    """What breaks."""
    checks: tuple[Check, ...] = ()
    """What must hold."""
    ready: Duration = Duration(120e9)
    """How long all may take to become ready."""
    drain: Duration = Duration(60e9)
    """How long consumers may take to catch up after the load."""
    calibrate: Literal["delay", "rate"] = "delay"
    """What is measured of each link before anything runs: its delay, or its rate too."""
    capture: Capture | None = None
    """Links whose packets are written into pcap files."""
    expose: dict[int, str] = Field(default_factory=dict)
    """Ports of the user's own loopback, and the host and port that each leads to while the run
    lasts.
    """

    def declaration(self) -> dict[str, Any]:
        """The same as plain data, quantities as text: what a file would say, with all defaults."""
        plain: dict[str, Any] = TypeAdapter(Experiment).dump_python(self, mode="json")
        for component in plain["components"].values():
            del component["name"]
        return plain


def completed(declaration: Mapping[str, Any]) -> dict[str, Any]:
    """A declaration that an older streambed wrote, with what has a default today; as it is if it is
    no longer understood.
    """
    try:
        return TypeAdapter(Experiment).validate_python(declaration).declaration()
    except ValidationError:
        return dict(declaration)


def problems(experiment: Experiment, base: Path) -> list[Problem]:
    """All that is wrong although each key for itself is right; relative paths start at `base`."""
    found = _prefixed("topology", experiment.topology.problems())
    found += [] if found else placement.problems(experiment) + _of_ways(experiment)
    found += (
        _of_times(experiment)
        + _of_components(experiment, base)
        + _of_places(experiment)
        + _of_ports(experiment)
    )
    hosts = experiment.topology.host_names()
    links = experiment.topology.ends_by_name()
    for at, fault in enumerate(experiment.faults):
        found += _prefixed(
            f"faults.{at}",
            fault.problems(hosts, links, experiment.components)
            + _of_timing(fault, experiment.duration),
        )
    samples, unreadable = read_samples(experiment, base)
    found += unreadable
    # Else it may be about values that are wrong in themselves, or about links that are not there.
    if not found:
        found += change_problems(experiment, samples)
    for at, check in enumerate(experiment.checks):
        found += _prefixed(f"checks.{at}", check.problems(experiment.components))
    found += _prefixed("capture", experiment.capture.problems(links)) if experiment.capture else []
    found += expose_problems(experiment.expose, hosts)
    return found + reference_problems(experiment)


def check(experiment: Experiment, base: Path) -> None:
    """Raise DeclarationError if anything is wrong with an experiment that was made in Python."""
    if found := problems(experiment, base):
        raise DeclarationError(found, experiment.name)


def _prefixed(prefix: str, found: list[Problem]) -> list[Problem]:
    return [replace(problem, key=f"{prefix}.{problem.key}") for problem in found]


def _of_times(experiment: Experiment) -> list[Problem]:
    times = {"duration": experiment.duration, "ready": experiment.ready}
    return [
        Problem(key=key, says=f"{time} is too short: give more than 0s")
        for key, time in times.items()
        if time.ns <= 0
    ]


def _of_timing(fault: Fault, duration: Duration) -> list[Problem]:
    if fault.at >= duration:
        return [
            Problem(key="at", says=f"it begins at {fault.at}, but the load lasts only {duration}")
        ]
    end = Duration(fault.at.ns + fault.lasts.ns)
    if end > duration:
        return [
            Problem(
                key="lasts",
                says=f"it ends at {end}, but the load lasts only {duration}: begin earlier, or lengthen `duration`",
            )
        ]
    return []


def _of_components(experiment: Experiment, base: Path) -> list[Problem]:
    found = []
    for name, component in experiment.components.items():
        here = component.problems(experiment.components, base)
        here += _of_limits(component, experiment.topology)
        if name in RESERVED_COMPONENTS:
            here.append(
                Problem(
                    key="",
                    says=f"a component cannot be called '{name}': the word has another meaning",
                )
            )
        if name != component.name:
            here.append(
                Problem(
                    key="name", says=f"it is called '{component.name}' itself, but '{name}' here"
                )
            )
        found += _prefixed(f"components.{name}", here)
    return [replace(problem, key=problem.key.rstrip(".")) for problem in found]


def _of_limits(component: Component, topology: Topology) -> list[Problem]:
    """A component cannot have more than its host."""
    limits = component.limits
    if limits is None:
        return []
    found = limits.problems()
    for key, wanted, caps in (
        ("cpu", limits.cpu, topology.cpu),
        ("memory", limits.memory, topology.memory),
    ):
        for node in dict.fromkeys(component.places.values()):
            if wanted and node in caps and wanted.value > caps[node].value:
                says = f"{wanted} is more than its host '{node}' has: topology.{key} gives that {caps[node]}"
                found.append(Problem(key=f"limits.{key}", says=says))
    return found


def _of_places(experiment: Experiment) -> list[Problem]:
    """Components run on hosts that exist."""
    hosts = experiment.topology.host_names()
    found = []
    for name, component in experiment.components.items():
        for key, node in ((key, node) for key, node in component.places.items() if node):
            says = (
                f"'{node}' is a switch: components run on hosts"
                if node in experiment.topology.switches
                else ""
            )
            if not says and node not in hosts:
                says = f"there is no node '{node}'. {suggestion(node, hosts)}"
            found += [Problem(key=f"components.{name}.{key}", says=says)] if says else []
    return found


def _of_ways(experiment: Experiment) -> list[Problem]:
    """Components reach each other."""
    hosts = set(experiment.topology.host_names())
    used = [
        node
        for component in experiment.components.values()
        for node in component.places.values()
        if node in hosts
    ]
    apart = Routing(experiment.topology).unreachable(dict.fromkeys(used))
    by_hand = experiment.topology.routing == "by_hand"
    advice = (
        "give one under `routes`"
        if by_hand
        else "add a link. Packets pass through switches only, hosts do not forward"
    )
    key = f"topology.{'routes' if by_hand else 'links'}"
    return [
        Problem(key=key, says=f"there is no way from '{one}' to '{other}': {advice}")
        for one, other in apart
    ]


def _of_ports(experiment: Experiment) -> list[Problem]:
    """Two servers on one host cannot have the same port."""
    taken: dict[tuple[str, int], str] = {}
    found = []
    for name, component in experiment.components.items():
        for key, node in ((key, node) for key, node in component.places.items() if node):
            for other, port in [
                (taken.setdefault((node, port), name), port) for port in component.ports
            ]:
                if other != name:
                    says = f"'{node}' runs '{other}' already, and both would want port {port}"
                    found.append(Problem(key=f"components.{name}.{key}", says=says))
                    break
    return found
