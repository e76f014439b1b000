"""Placement: components that do not name their hosts get them by a rule. Pure, and the same for the
same seed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from streambed.errors import Problem, suggestion
from streambed.kinds.components.placement_rule import Place
from streambed.planner.routing import Routing

if TYPE_CHECKING:
    from streambed.declare.experiment import Experiment
    from streambed.kinds.components.component import Component


def placed(experiment: Experiment) -> Experiment:
    """The experiment with hosts for every component that leaves them open; where a rule cannot be
    followed they stay open.
    """
    return _Placing(experiment).done()


def problems(experiment: Experiment) -> list[Problem]:
    """Why hosts stayed open, and rules that nobody follows; keys relative to the experiment."""
    placing = _Placing(experiment)
    placing.done()
    found = [
        replace(problem, key=f"components.{name}.{problem.key}")
        for name, problem in placing.refused.items()
    ]
    for name, component in experiment.components.items():
        key = _key(component)
        if key and not getattr(component, key) and not _rule(component, experiment):
            says = "is missing: name the host, or say with `place` how to choose one"
            found.append(Problem(key=f"components.{name}.{key}", says=says))
    return found


def _key(component: Component, rule: Place | None = None) -> str:
    """The key that names its hosts: of those that it has, the one given, or else the one that its
    rule asks for.
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
    own: Place | None = component.place  # type: ignore[attr-defined]  # Whoever has host_keys has this.
    return own or experiment.place


class _Placing:
    """One pass over the components: those that depend on where others are come after these."""

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
        """The ways of packets; found only if a rule asks for them."""
        return Routing(self.experiment.topology)

    def done(self) -> Experiment:
        """Place whatever can be placed."""
        open_ones = {
            name: rule
            for name, component in self.experiment.components.items()
            if _key(component)
            and not getattr(component, _key(component))
            and (rule := _rule(component, self.experiment))
        }
        for near in (False, True):
            for name, rule in open_ones.items():
                if (self._method(name, rule) == "nearest") == near:
                    self._place(name, rule)
        components = {
            name: self._with_hosts(name, component)
            for name, component in self.experiment.components.items()
        }
        return replace(self.experiment, components=components)

    def _method(self, name: str, rule: Place) -> str:
        return self.experiment.components[name].auto_place if rule.by == "auto" else rule.by

    def _place(self, name: str, rule: Place) -> None:
        if stranger := next((host for host in rule.among if host not in self.hosts), ""):
            says = f"there is no host '{stranger}'. {suggestion(stranger, self.hosts)}"
            self.refused[name] = Problem(key="place.among", says=says)
            return
        others = self.experiment.components
        if stranger := next((other for other in rule.to if other not in others), ""):
            says = f"there is no component '{stranger}'. {suggestion(stranger, others)}"
            self.refused[name] = Problem(key="place.to", says=says, about=frozenset({stranger}))
            return
        hosts = list(rule.among) or self.hosts
        if rule.count > len(hosts):
            says = f"{rule.count} hosts are asked for, but there are {len(hosts)} to choose from"
            self.refused[name] = Problem(key="place.count", says=says)
            return
        choose: dict[str, Callable[[], Sequence[str]]] = {
            "random": lambda: random.Random(f"{self.experiment.seed} {name}").sample(
                hosts, rule.count
            ),
            "round_robin": lambda: sorted(hosts, key=self.load.__getitem__)[: rule.count],
            "spread": lambda: self._spread(hosts, rule.count),
            "nearest": lambda: self._nearest(name, rule, hosts),
        }
        self.chosen[name] = tuple(choose[self._method(name, rule)]())
        self.load.update(self.chosen[name])

    def _spread(self, hosts: Sequence[str], count: int) -> list[str]:
        """One after the other, each at the switch that has the fewest of them, then on the host
        that has the least to do.
        """
        chosen: list[str] = []
        while len(chosen) < count:
            used = Counter(map(self._switch, chosen))
            left = [host for host in hosts if host not in chosen]
            chosen.append(min(left, key=lambda host: (used[self._switch(host)], self.load[host])))
        return chosen

    def _switch(self, host: str) -> str:
        return min(self.routing.neighbours(host), default=host)

    def _nearest(self, name: str, rule: Place, hosts: Sequence[str]) -> list[str]:
        """Those with the least delay in all to the others, then with the least to do."""
        wanted = rule.to or tuple(self._partners(name)) or tuple(self._producers())
        targets = [node for other in wanted for node in self.chosen[other] if node]

        def away(host: str) -> tuple[float, int]:
            return sum(self.routing.delay_ns(host, target) for target in targets), self.load[host]

        return sorted(hosts, key=away)[: rule.count]

    def _partners(self, name: str) -> Iterable[str]:
        """The brokers whose topics a component reads or writes; for a store, the components that
        refer to it by name.
        """
        component = self.experiment.components[name]
        topics = {
            *component.topics_written,
            *(topic for reader in component.readers for topic in reader.topics),
        }
        for other, known in self.experiment.components.items():
            refers = any(
                f"{{{name}." in text
                for key, text in known.texts.items()
                if not key.startswith("env.")
            )
            kept = known.as_broker.partitions if known.as_broker else {}
            if topics & set(kept) or refers or name in known.stores_used:
                yield other

    def _producers(self) -> list[str]:
        """The components where records come from."""
        return [
            name
            for name, component in self.experiment.components.items()
            if component.topics_written and not component.as_engine
        ]

    def _with_hosts(self, name: str, component: Any) -> Any:
        key, nodes = _key(component, _rule(component, self.experiment)), self.chosen[name]
        if not key or getattr(component, key) or not any(nodes):
            return component
        return replace(component, **{key: nodes if key == "nodes" else nodes[0]})
