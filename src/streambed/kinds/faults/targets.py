"""Targets of faults: processes, hosts, or the holders of a role at the injection."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from typing import ClassVar

from streambed.errors import Problem, WorldError, suggestion
from streambed.kinds.components.engine import engines_among
from streambed.kinds.components.roles import broker_for, means_role, role, role_problems
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.crowds import CROWD_FORMS, crowd, crowd_broker, crowd_problems, members
from streambed.kinds.faults.fault import Held, Lasting
from streambed.kinds.faults.of_links import Links
from streambed.world import Heal, Process, World


@declared
class OnATarget(Lasting):
    """Defaults for faults with one `target`."""

    target: str

    @property
    def aim(self) -> str:
        """The target, as declared."""
        return self.target

    @property
    def roles(self) -> Sequence[str]:
        """The roles that must be looked up."""
        return roles_among((self.target,))


@declared
class OnAProcess(OnATarget):
    """Defaults for faults whose `target` is a process or several."""

    state: ClassVar[str] = ""
    """What its target is while it lasts; empty if that does not matter to other faults."""
    needs_life: ClassVar[bool] = False
    """Whether other faults may hold the target too, as long as it is alive."""
    hits_executors: ClassVar[bool] = False
    """Whether the target may be an executor, which is no process of the run's own."""

    def holds(self, links: Links, components: Components) -> Sequence[Held]:
        """The process, if it is known before the run."""
        name = known_process(self.target, components) if self.state else ""
        return (Held(name, self.state, alone=not self.needs_life),) if name else ()

    def possible_outside(self, ours: Collection[str]) -> bool:
        """A process that we run can be hit with or without an emulated network."""
        return self.target.partition("/")[0] in ours

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The target must be a single process, a role or a crowd."""
        problems = process_problems(self.target, components)
        return problems or self.executor_problems()

    def executor_problems(self) -> list[Problem]:
        """An executor can be killed, stopped and paused, and nothing else."""
        wanted = role(self.target)
        if self.hits_executors or not wanted or wanted.kind != "executor":
            return []
        says = "an executor can only be killed, stopped or paused: name its worker"
        return [Problem(key="target", says=says)]


def known_process(target: str, components: Components) -> str:
    """The process that a target means in every run; empty if that is only known during the run."""
    wanted = role(target)
    if wanted and wanted.kind == "driver":
        return process_name(engines_among(components)[wanted.of].driver, components)
    return "" if means_role(target) else process_name(target, components)


def known_processes(target: str, components: Components) -> list[str]:
    """All processes of a component, or the one that a target means in every run."""
    if target in components and components[target].places:
        nodes = components[target].places.values()
        return [process_name(f"{target}/{node}", components) for node in nodes]
    name = known_process(target, components)
    return [name] if name else []


def process_name(target: str, components: Components) -> str:
    """One name for a process that has two: poet and poet/edge."""
    name, _, node = target.partition("/")
    alone = name in components and len(components[name].places) == 1
    return name if alone else f"{name}/{node}"


def process_problems(target: str, components: Components, key: str = "target") -> list[Problem]:
    """A target must be a single process, a role or a crowd."""
    if means_role(target):
        return _role_problems(target, components, components, key)
    single: list[str] = []
    parts: list[str] = []
    for name, component in components.items():
        nodes = list(component.places.values())
        if len(nodes) == 1:
            single.append(name)
        parts += [f"{name}/{node}" for node in nodes]
    if target in single or target in parts:
        return []
    if target in components:
        first = next(iter(components[target].places.values()))
        says = f"'{target}' has several processes: name one, such as '{target}/{first}'"
        return [Problem(key=key, says=says)]
    says = f"there is no '{target}'. {suggestion(target, [*single, *parts])}"
    about = target.partition("/")[0]
    return [Problem(key=key, says=says, about=frozenset({about}))]


def node_problems(
    target: str,
    nodes: Collection[str],
    components: Components,
    key: str = "target",
    noun: str = "node",
) -> list[Problem]:
    """A target must be one of these nodes, a role or a crowd."""
    if means_role(target):
        return _role_problems(target, nodes, components, key)
    if target in nodes:
        return []
    return [Problem(key=key, says=f"there is no {noun} '{target}'. {suggestion(target, nodes)}")]


def _role_problems(
    target: str, names: Collection[str], components: Components, key: str
) -> list[Problem]:
    if target in names:
        says = (
            f"'{target}' is a name here and a role as well: "
            f"write '{target} of KAFKA' for the role, or rename it"
        )
        return [Problem(key=key, says=says)]
    if several := crowd(target):
        return crowd_problems(several, components, key)
    return role_problems(target, components, key, also=CROWD_FORMS)


def roles_among(targets: Iterable[str]) -> tuple[str, ...]:
    """The roles that must be looked up for these targets."""
    wanted = []
    for target in targets:
        several = crowd(target)
        name = several.but if several else target
        named = role(name)
        if named and named.kind != "executor":
            wanted.append(name)
    return tuple(wanted)


def candidates(target: str, components: Components) -> tuple[str, ...]:
    """The hosts that a target may resolve to."""
    if several := crowd(target):
        return crowd_broker(several, components).nodes
    wanted = role(target)
    if wanted is None:
        return (target,)
    component = component_of(target, components)
    places: Iterable[str] = components[component].places.values()
    return tuple(places)


def component_of(target: str, components: Components) -> str:
    """The name of the component that a process, or the holder of a role, belongs to."""
    if several := crowd(target):
        return crowd_broker(several, components).name
    wanted = role(target)
    if wanted is None:
        return target.partition("/")[0]
    engines = engines_among(components)
    if wanted.kind == "driver":
        return engines[wanted.of].driver.partition("/")[0]
    if wanted.kind == "executor":
        return engines[wanted.of].executor_of(components)
    return broker_for(wanted, components).name


def names_meant(target: str, world: World) -> tuple[str, ...]:
    """The names of the processes that a target means now; not for executors."""
    if several := crowd(target):
        return members(several, world)
    return (target,) if role(target) is None else (world.holder(target),)


def resolve_processes(target: str, world: World) -> tuple[list[Process], str]:
    """The processes that a target means now, and their label in the run's events."""
    wanted = role(target)
    if wanted and wanted.kind == "executor":
        executors = engines_among(world.components)[wanted.of].executors(world)
        if not executors:
            raise WorldError(f"'{wanted.of}' has no executor at this moment")
        return [executors[0]], f"{executors[0].name} ({target})"
    names = names_meant(target, world)
    label = ", ".join(names)
    return [world.find(name) for name in names], label if label == target else f"{label} ({target})"


def resolve_process(target: str, world: World) -> tuple[str, str]:
    """The one process that a target names now, and its label in the run's events."""
    (name,) = names_meant(target, world)
    return name, name if name == target else f"{name} ({target})"


def act_on_each(processes: Iterable[Process], act: Callable[[Process], Heal]) -> Heal:
    """Do something to each process, and return how to heal all of them.

    If it fails for one, the earlier ones are healed.
    """
    with ExitStack() as healing:
        for process in processes:
            healing.callback(act(process))
        return healing.pop_all().close


def resolve_hosts(target: str, world: World) -> tuple[list[str], str]:
    """The hosts that a target means now, and their label in the run's events."""
    if not (role(target) or crowd(target)):
        return [target], target
    processes, _ = resolve_processes(target, world)
    hosts = [process.node for process in processes]
    return hosts, f"{', '.join(hosts)} ({target})"


def resolve_host(target: str, world: World) -> tuple[str, str]:
    """The one host that a target names now, and its label in the run's events."""
    hosts, label = resolve_hosts(target, world)
    return hosts[0], label
