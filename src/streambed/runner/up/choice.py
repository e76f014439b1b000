"""Which servers to start: kinds by name, or the servers that an experiment declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streambed.declare import reading
from streambed.declare.experiment import Experiment
from streambed.declare.topology import Topology
from streambed.errors import UsageError, suggestion
from streambed.kinds.components.component import Component
from streambed.kinds.components.plan_context import Loopback
from streambed.kinds.declared_parts import revive
from streambed.kinds.tables import COMPONENTS
from streambed.runner.up.ports import ports_for, why_not_free
from streambed.units import Duration

FILES = (".yaml", ".yml", ".graphml")
READY = Duration(120e9)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The servers to start, as an experiment on one host, and notes on what differs from what was
    asked.
    """

    experiment: Experiment
    base: Path
    notes: tuple[str, ...]


def kinds() -> list[str]:
    """The kinds of servers that run on the loopback."""
    return [name for name, kind in COMPONENTS.items() if kind.runs_on_loopback]


def choose(
    what: Sequence[str],
    *,
    ports: Mapping[str, int],
    topics: Mapping[str, int],
    has_data: Sequence[str] = (),
) -> Choice:
    """The servers that `what` names, at these ports. UsageError says what is not possible.

    `has_data` are components whose data of an earlier start are kept.
    """
    asked, notes, base = _components(what)
    _refuse_unknown(asked, ports, topics)
    taken: set[int] = set()
    # Ports that were asked for go first, so that no other server takes one of them.
    order = sorted(asked.values(), key=lambda component: component.name not in ports)
    chosen: dict[str, Component] = {}
    for component in order:
        name = component.name
        numbers = ports_for(name, component.ports, asked=ports.get(name), taken=taken)
        if name not in ports:
            notes += _moved_port(name, usual=component.ports[0], actual=numbers[0])
        own_topics = topics if component.as_broker else {}
        loopback = Loopback(ports=numbers, topics=own_topics, has_data=name in has_data)
        chosen[name] = component.on_loopback(loopback)
    experiment = Experiment(
        name="up",
        duration=Duration(1e9),
        ready=READY,
        topology=Topology(hosts=(Loopback.host,)),
        components={name: chosen[name] for name in asked},
    )
    return Choice(experiment=experiment, base=base, notes=tuple(notes))


def _moved_port(name: str, *, usual: int, actual: int) -> list[str]:
    """A note if a server does not listen on its usual port."""
    if actual == usual:
        return []
    reason = why_not_free(usual) or f"another of these servers has port {usual}"
    return [f"{reason}: {name} is at {actual}"]


def _components(what: Sequence[str]) -> tuple[dict[str, Component], list[str], Path]:
    """The servers by name, notes on what is left out, and where relative paths start."""
    if not what:
        raise UsageError(f"name the servers to start, of {', '.join(kinds())}, or an experiment")
    asked: dict[str, Component] = {}
    notes: list[str] = []
    base = Path.cwd()
    for word in what:
        if Path(word).suffix.lower() in FILES:
            declared = reading.read(Path(word))
            base = declared.base
            servers = _servers_of(declared.experiment, notes)
        else:
            servers = iter([_of_kind(word)])
        for server in servers:
            if server.name in asked:
                raise UsageError(f"{server.name} is asked for twice: name it once")
            asked[server.name] = server
    return asked, notes, base


def _of_kind(word: str) -> Component:
    if word not in kinds():
        reason = "does not run on the loopback" if word in COMPONENTS else "is no server"
        raise UsageError(
            f"'{word}' {reason}. {suggestion(word, kinds())} Files end in {', '.join(FILES)}"
        )
    component: Component = revive(COMPONENTS, {"kind": word, "name": word})
    return component


def _servers_of(experiment: Experiment, notes: list[str]) -> Iterator[Component]:
    left_out = []
    for name, component in experiment.components.items():
        if not component.runs_on_loopback or component.existing_address:
            left_out.append(name)
            continue
        if (count := len(component.places)) > 1:
            notes.append(f"{name}: one server instead of {count}, and one replica of everything")
        yield component
    if len(left_out) == len(experiment.components):
        raise UsageError(f"{experiment.name} declares no server of {', '.join(kinds())}")
    if left_out:
        notes.append(f"left out: {', '.join(left_out)}, the network, faults and limits")


def _refuse_unknown(
    asked: Mapping[str, Component], ports: Mapping[str, int], topics: Mapping[str, int]
) -> None:
    for name in ports:
        if name not in asked:
            raise UsageError(f"--port {name}: no such server is started. {suggestion(name, asked)}")
    brokers = [name for name, component in asked.items() if component.as_broker]
    if topics and len(brokers) != 1:
        raise UsageError(
            f"--topic is for one kafka, but {len(brokers)} are started. Add kafka, or leave it out"
        )
