"""Choose hosts, by a rule, for components that name none. Pure, and the same for the same seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from streambed.errors import Problem, suggestion
from streambed.kinds.components.placement_rule import Place
from streambed.planner.routing import Routing

if TYPE_CHECKING:
    from streambed.declare.experiment import Experiment
    from streambed.kinds.components.component import Component


def place_components(experiment: Experiment) -> Experiment:
    """The experiment with a host for every component that names none.

    A component whose rule cannot be followed stays as it is; `problems` says why.
    """
    return _Placement(experiment).placed_experiment()


def problems(experiment: Experiment) -> list[Problem]:
    """Why components have no host; keys relative to the experiment."""
    placement = _Placement(experiment)
    placement.placed_experiment()
    wrong = [
        replace(problem, key=f"components.{name}.{problem.key}")
        for name, problem in placement.refused.items()
    ]
    for name, component in experiment.components.items():
        if _needs_host(component) and not _rule(component, experiment):
            says = "is missing: name the host, or say with `place` how to choose one"
            wrong.append(Problem(key=f"components.{name}.{_host_key(component)}", says=says))
    return wrong


def _needs_host(component: Component) -> bool:
    key = _host_key(component)
    return bool(key) and not getattr(component, key)


def _host_key(component: Component, rule: Place | None = None) -> str:
    """The key that names its hosts: the one that is set, else the one that fits the rule; empty if
    it runs on no host.
    """
    keys = component.host_keys
    if not keys:
        return ""
    for key in keys:
        if getattr(component, key):
            return key
    return keys[-1] if rule and rule.count > 1 else keys[0]


def _rule(component: Component, experiment: Experiment) -> Place | None:
    if not component.host_keys:
        return None
    # Every component with host_keys has a field `place`.
    own: Place | None = component.place  # type: ignore[attr-defined]
    return own or experiment.place


class _Placement:
    """One pass over the components that have no host yet."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.refused: dict[str, Problem] = {}
        self.chosen = {
            name: tuple(component.places.values())
            for name, component in experiment.components.items()
        }
        self.load = Counter(node for nodes in self.chosen.values() for node in nodes if node)
        self.hosts = experiment.topology.host_names()

    @cached_property
    def routing(self) -> Routing:
        """Routes between hosts, computed only if a rule needs them."""
        return Routing(self.experiment.topology)

    def placed_experiment(self) -> Experiment:
        """Place every component that can be placed."""
        rules = self._open_rules()
        dependent = [name for name in rules if self._method(name, rules[name]) == "nearest"]
        independent = [name for name in rules if name not in dependent]
        # Components placed next to others come last: by then the others have a host.
        for name in independent + dependent:
            self._place(name, rules[name])
        components = {
            name: self._with_hosts(name, component)
            for name, component in self.experiment.components.items()
        }
        return replace(self.experiment, components=components)

    def _open_rules(self) -> dict[str, Place]:
        """The rule of each component that needs a host and has a rule."""
        rules = {}
        for name, component in self.experiment.components.items():
            rule = _rule(component, self.experiment)
            if rule and _needs_host(component):
                rules[name] = rule
        return rules

    def _method(self, name: str, rule: Place) -> str:
        return self.experiment.components[name].auto_place if rule.by == "auto" else rule.by

    def _place(self, name: str, rule: Place) -> None:
        if problem := self._rule_problem(rule):
            self.refused[name] = problem
            return
        hosts = list(rule.among) or self.hosts

        method = self._method(name, rule)
        chosen: Sequence[str]
        if method == "random":
            chosen = random.Random(f"{self.experiment.seed} {name}").sample(hosts, rule.count)
        elif method == "round_robin":
            chosen = sorted(hosts, key=self.load.__getitem__)[: rule.count]
        elif method == "spread":
            chosen = self._spread(hosts, rule.count)
        else:
            chosen = self._nearest(name, rule, hosts)
        self.chosen[name] = tuple(chosen)
        self.load.update(chosen)

    def _rule_problem(self, rule: Place) -> Problem | None:
        for host in rule.among:
            if host not in self.hosts:
                says = f"there is no host '{host}'. {suggestion(host, self.hosts)}"
                return Problem(key="place.among", says=says)
        components = self.experiment.components
        for other in rule.to:
            if other not in components:
                says = f"there is no component '{other}'. {suggestion(other, components)}"
                return Problem(key="place.to", says=says, about=frozenset({other}))
        choice = len(rule.among) or len(self.hosts)
        if rule.count > choice:
            says = f"{rule.count} hosts are asked for, but there are {choice} to choose from"
            return Problem(key="place.count", says=says)
        return None

    def _spread(self, hosts: Sequence[str], count: int) -> list[str]:
        """Put each on the least loaded host of the switch that has the fewest of them."""
        chosen: list[str] = []
        while len(chosen) < count:
            used = Counter(map(self._switch, chosen))
            free = [host for host in hosts if host not in chosen]
            chosen.append(min(free, key=lambda host: (used[self._switch(host)], self.load[host])))
        return chosen

    def _switch(self, host: str) -> str:
        return min(self.routing.neighbours(host), default=host)

    def _nearest(self, name: str, rule: Place, hosts: Sequence[str]) -> list[str]:
        """The hosts with the least total delay to the components it talks to, then the least
        loaded.
        """
        partners = rule.to or tuple(self._partners(name)) or tuple(self._producers())
        targets = [node for partner in partners for node in self.chosen[partner] if node]

        def distance(host: str) -> tuple[float, int]:
            delay_ns = sum(self.routing.delay_ns(host, target) for target in targets)
            return delay_ns, self.load[host]

        return sorted(hosts, key=distance)[: rule.count]

    def _partners(self, name: str) -> Iterable[str]:
        """The brokers whose topics a component reads or writes; for a store, the components that
        refer to it by name.
        """
        component = self.experiment.components[name]
        topics = set(component.topics_written)
        for reader in component.readers:
            topics.update(reader.topics)
        for other_name, other in self.experiment.components.items():
            broker = other.as_broker
            has_topics = broker is not None and not topics.isdisjoint(broker.partitions)
            if has_topics or _refers_to(other, name) or name in other.stores_used:
                yield other_name

    def _producers(self) -> list[str]:
        """The components that produce records and are not engines."""
        return [
            name
            for name, component in self.experiment.components.items()
            if component.topics_written and not component.as_engine
        ]

    def _with_hosts(self, name: str, component: Any) -> Any:
        key = _host_key(component, _rule(component, self.experiment))
        nodes = self.chosen[name]
        if not key or getattr(component, key) or not any(nodes):
            return component
        return replace(component, **{key: nodes if key == "nodes" else nodes[0]})


def _refers_to(component: Component, name: str) -> bool:
    """Whether its texts, other than environment variables, refer to a component by name."""
    texts = component.texts.items()
    return any(f"{{{name}." in text for key, text in texts if not key.startswith("env."))
