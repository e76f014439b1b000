"""The experiment: components on the nodes of a topology, faults on a timeline, and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from streambed.declare.bounds import RESERVED_COMPONENTS, name_problems, writable_problems
from streambed.declare.capture import Capture
from streambed.declare.topology import Topology
from streambed.errors import DeclarationError, Problem, suggestion
from streambed.kinds.check_table import CHECKS
from streambed.kinds.checks.check import fault_problems
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.declaring import Name, declared
from streambed.kinds.faults.when.contradictions import contradictions
from streambed.kinds.faults.when.schedule import schedule, timing_problems, trigger_problems
from streambed.kinds.one_of import OneOf
from streambed.kinds.tables import COMPONENTS, FAULTS
from streambed.planner import placement
from streambed.planner.expose import expose_problems
from streambed.planner.references import reference_problems
from streambed.planner.routing import EFFORT_MAX, Routing
from streambed.planner.shapes import change_problems, read_samples
from streambed.units import Duration

if TYPE_CHECKING:
    from streambed.kinds.checks.check import Check
    from streambed.kinds.components.component import Component
    from streambed.kinds.faults.fault import Fault
else:
    Component = Annotated[Any, OneOf(COMPONENTS)]
    Fault = Annotated[Any, OneOf(FAULTS)]
    Check = Annotated[Any, OneOf(CHECKS)]


def _by_name(components: Any) -> Any:
    """Components by name: a file has a mapping, whose keys become names; Python may give a list."""
    if isinstance(components, Mapping):
        return {
            name: {"name": name, **body} if isinstance(body, Mapping) else body
            for name, body in components.items()
        }
    is_list = isinstance(components, (list, tuple))
    if not is_list or not all(hasattr(component, "name") for component in components):
        return components  # pydantic says what is wrong with it.
    named = {component.name: component for component in components}
    if len(named) < len(components):
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
    warm_up: Duration = Duration(0)
    """The first part of the load: records due in it do not count for latency and throughput."""
    seed: Annotated[int, Field(strict=True)] = 1
    """What is drawn at random is drawn from it, so that a run can be repeated."""
    topology: Topology
    """The network."""
    place: Placed = None
    """How the hosts of components are chosen that name none and have no rule."""
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
    writable: tuple[str, ...] = ()
    """Paths that programs may write to if root runs them, besides the run's folder and that of the
    declaration.
    """

    def declaration(self) -> dict[str, Any]:
        """The experiment as plain data, as a file would declare it, with all defaults."""
        plain: dict[str, Any] = TypeAdapter(Experiment).dump_python(self, mode="json")
        for component in plain["components"].values():
            del component["name"]
        return plain


def with_defaults(declaration: Mapping[str, Any]) -> dict[str, Any]:
    """A declaration by an older version, with the defaults of keys that came later; unchanged if it
    is not valid any more.
    """
    try:
        return TypeAdapter(Experiment).validate_python(declaration).declaration()
    except ValidationError:
        return dict(declaration)


def problems(experiment: Experiment, base: Path) -> list[Problem]:
    """What is wrong with the experiment as a whole, after each key was valid by itself. Relative
    paths start at `base`.
    """
    wrong = _topology_problems(experiment)
    wrong += name_problems(experiment.name) + _time_problems(experiment)
    wrong += _component_problems(experiment, base)
    wrong += _host_problems(experiment)
    wrong += _port_problems(experiment)
    wrong += _fault_problems(experiment)
    samples, unreadable = read_samples(experiment, base)
    wrong += unreadable
    # The next two need valid values: otherwise they would report a wrong value twice.
    if not wrong:
        wrong += _contradictions(experiment)
    if not wrong:
        wrong += change_problems(experiment, samples)
    wrong += _check_problems(experiment)
    if experiment.capture:
        links = experiment.topology.ends_by_name()
        wrong += _with_prefix("capture", experiment.capture.problems(links))
    wrong += expose_problems(experiment.expose, experiment.topology.host_names())
    wrong += writable_problems(experiment.writable, base)
    return wrong + reference_problems(experiment)


def _topology_problems(experiment: Experiment) -> list[Problem]:
    """Problems of the network; routes are computed only if it is valid and small enough."""
    wrong = _with_prefix("topology", experiment.topology.problems())
    if not wrong:
        wrong = _effort_problems(experiment.topology)
    if not wrong:
        wrong = placement.problems(experiment) + _route_problems(experiment)
    return wrong


def _fault_problems(experiment: Experiment) -> list[Problem]:
    hosts = experiment.topology.host_names()
    links = experiment.topology.ends_by_name()
    wrong = []
    for at, fault in enumerate(experiment.faults):
        own = fault.problems(hosts, links, experiment.components)
        own += timing_problems(fault, experiment.duration)
        own += trigger_problems(fault, experiment.components)
        wrong += _with_prefix(f"faults.{at}", own)
    return wrong


def _contradictions(experiment: Experiment) -> list[Problem]:
    injections = schedule(
        experiment.faults, duration_ns=experiment.duration.ns, seed=experiment.seed
    )
    links = experiment.topology.ends_by_name()
    return contradictions(experiment.faults, injections, links, experiment.components)


def check(experiment: Experiment, base: Path) -> None:
    """Raise DeclarationError if anything is wrong with an experiment that was made in Python."""
    if wrong := problems(experiment, base):
        raise DeclarationError(wrong, experiment.name)


def _check_problems(experiment: Experiment) -> list[Problem]:
    wrong = []
    fault_kinds = [fault.kind for fault in experiment.faults]
    for at, check in enumerate(experiment.checks):
        own = check.problems(experiment.components) + fault_problems(check, fault_kinds)
        wrong += _with_prefix(f"checks.{at}", own)
    return wrong


def _with_prefix(prefix: str, problems: list[Problem]) -> list[Problem]:
    return [replace(problem, key=f"{prefix}.{problem.key}") for problem in problems]


def _time_problems(experiment: Experiment) -> list[Problem]:
    times = {"duration": experiment.duration, "ready": experiment.ready}
    wrong = [
        Problem(key=key, says=f"{time} is too short: give more than 0s")
        for key, time in times.items()
        if time.ns <= 0
    ]
    if 0 < experiment.duration.ns <= experiment.warm_up.ns:
        says = f"{experiment.warm_up} leaves nothing of a load that lasts {experiment.duration}"
        wrong.append(Problem(key="warm_up", says=f"{says}: shorten it, or lengthen `duration`"))
    return wrong


def _component_problems(experiment: Experiment, base: Path) -> list[Problem]:
    wrong = []
    for name, component in experiment.components.items():
        own = component.problems(experiment.components, base)
        own += _limit_problems(component, experiment.topology)
        if name in RESERVED_COMPONENTS:
            says = f"a component cannot be called '{name}': the word has another meaning"
            own.append(Problem(key="", says=says))
        if name != component.name:
            says = f"it is called '{component.name}' itself, but '{name}' here"
            own.append(Problem(key="name", says=says))
        wrong += _with_prefix(f"components.{name}", own)
    return [replace(problem, key=problem.key.rstrip(".")) for problem in wrong]


def _limit_problems(component: Component, topology: Topology) -> list[Problem]:
    """Limits above the caps of a component's hosts."""
    limits = component.limits
    if limits is None:
        return []
    wrong = limits.problems()
    limited = (("cpu", limits.cpu, topology.cpu), ("memory", limits.memory, topology.memory))
    for key, wanted, caps in limited:
        for node in dict.fromkeys(component.places.values()):
            if wanted and node in caps and wanted.value > caps[node].value:
                cap = f"topology.{key} gives that {caps[node]}"
                says = f"{wanted} is more than its host '{node}' has: {cap}"
                wrong.append(Problem(key=f"limits.{key}", says=says))
    return wrong


def _host_problems(experiment: Experiment) -> list[Problem]:
    """Components on switches, or on nodes that do not exist."""
    hosts = experiment.topology.host_names()
    wrong = []
    for name, component in experiment.components.items():
        for key, node in component.places.items():
            says = ""
            if node in experiment.topology.switches:
                says = f"'{node}' is a switch: components run on hosts"
            elif node and node not in hosts:
                says = f"there is no node '{node}'. {suggestion(node, hosts)}"
            if says:
                wrong.append(Problem(key=f"components.{name}.{key}", says=says))
    return wrong


def _effort_problems(topology: Topology) -> list[Problem]:
    """A network whose routes would take too long to compute."""
    effort = Routing(topology).effort
    if effort <= EFFORT_MAX:
        return []
    says = (
        f"routes over {len(topology.switches)} switches and {len(topology.links)} links would take "
        f"{effort / EFFORT_MAX:.1f} times as long to compute as is allowed: declare fewer "
        "switches in loops, up to about 2000 in a ring or 330 in a mesh, or `routing: by_hand`"
    )
    return [Problem(key="topology.links", says=says)]


def _route_problems(experiment: Experiment) -> list[Problem]:
    """Hosts with components that cannot reach each other."""
    hosts = set(experiment.topology.host_names())
    used: dict[str, None] = {}
    for component in experiment.components.values():
        used |= dict.fromkeys(node for node in component.places.values() if node in hosts)
    if experiment.topology.routing == "by_hand":
        key, advice = "topology.routes", "give one under `routes`"
    else:
        key = "topology.links"
        advice = "add a link. Packets pass through switches only, hosts do not forward"
    return [
        Problem(key=key, says=f"there is no path from '{one}' to '{other}': {advice}")
        for one, other in Routing(experiment.topology).unreachable(used)
    ]


def _port_problems(experiment: Experiment) -> list[Problem]:
    """Servers on one host that would listen on the same port."""
    owners: dict[tuple[str, int], str] = {}
    wrong = []
    for name, component in experiment.components.items():
        for key, node in component.places.items():
            if not node:
                continue
            others = {port: owners.setdefault((node, port), name) for port in component.ports}
            clashes = [port for port, other in others.items() if other != name]
            if clashes:
                port = clashes[0]
                says = (
                    f"'{node}' runs '{others[port]}' already, and both would want port {port}: "
                    "give one another `port` or node"
                )
                wrong.append(Problem(key=f"components.{name}.{key}", says=says))
    return wrong
