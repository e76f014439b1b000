"""Expand generators: a generated topology becomes one that lists every node and every link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from streambed.declare.experiment import Experiment
from streambed.declare.generators.generator import Generator, Made, connected_parts
from streambed.declare.topology import Topology
from streambed.errors import DeclarationError, Problem


@dataclass(frozen=True, kw_only=True)
class Expanded:
    """A topology without generator, notes for the user, and the problems of the generator, with
    keys relative to the topology.
    """

    topology: Topology
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def expand(topology: Topology, base: Path) -> Expanded:
    """Replace the generator of a topology by the nodes and links that it makes, after those that
    are declared by hand. Files are relative to `base`.
    """
    if topology.generate and topology.graphml:
        both = Problem(key="graphml", says="give either generate or graphml, not both")
        return Expanded(topology=topology, problems=(both,))
    generator: Generator | None = topology.generate
    key = "generate"
    if topology.graphml:
        from streambed.declare.generators.graphml_network import GraphmlNetwork

        generator, key = GraphmlNetwork(file=topology.graphml), "graphml"
    if generator is None:
        return Expanded(topology=topology)
    wrong = [replace(problem, key=_below(key, problem.key)) for problem in generator.problems(base)]
    if wrong:
        return Expanded(topology=topology, problems=tuple(wrong))
    made = generator.make(base)
    full = _join(topology, made)
    if made.in_parts and len(connected_parts([link.ends for link in full.links])) > 1:
        return Expanded(topology=topology, problems=(Problem(key=key, says=made.in_parts),))
    return Expanded(topology=full, notes=made.notes)


def _join(topology: Topology, made: Made) -> Topology:
    """What is declared by hand, then what the generator made."""
    return replace(
        topology,
        generate=None,
        graphml="",
        switches=tuple(dict.fromkeys((*topology.switches, *made.switches))),
        hosts=tuple(dict.fromkeys((*topology.hosts, *made.hosts))),
        links=(*topology.links, *made.links),
        places=made.places | topology.places,
    )


def _below(key: str, rest: str) -> str:
    return f"{key}.{rest}" if rest and key == "generate" else key


def generated(generator: Generator, base: str | Path = ".") -> Topology:
    """The topology that a generator makes, for Python. DeclarationError if it is wrong."""
    expanded = expand(Topology(generate=generator), Path(base))
    if expanded.problems:
        raise DeclarationError(expanded.problems, f"the generator {generator.kind}")
    return expanded.topology


def expand_experiment(experiment: Experiment, base: Path) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment with an expanded topology, and notes for the user. DeclarationError if its
    generator is wrong.
    """
    expanded = expand(experiment.topology, base)
    if expanded.problems:
        wrong = [replace(problem, key=f"topology.{problem.key}") for problem in expanded.problems]
        raise DeclarationError(wrong, experiment.name)
    return replace(experiment, topology=expanded.topology), expanded.notes
