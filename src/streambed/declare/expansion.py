"""Expansion: a topology that is generated becomes one in which every node and every link is written
out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from streambed.declare.experiment import Experiment
from streambed.declare.generators import GraphmlNetwork
from streambed.declare.generators.generator import Generator
from streambed.declare.topology import Topology
from streambed.errors import DeclarationError, Problem


@dataclass(frozen=True, kw_only=True)
class Expanded:
    """A topology without generator, what its reader should know, and what is wrong with the
    generator; keys relative to the topology.
    """

    topology: Topology
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def expanded(topology: Topology, base: Path) -> Expanded:
    """What a topology comes to; files that it names are relative to `base`. What is given by hand
    comes first.
    """
    if topology.generate and topology.graphml:
        return Expanded(
            topology=topology,
            problems=(Problem(key="graphml", says="give either generate or graphml, not both"),),
        )
    generator: Generator | None = topology.generate
    key = "generate"
    if topology.graphml:
        generator, key = GraphmlNetwork(file=topology.graphml), "graphml"
    if generator is None:
        return Expanded(topology=topology)
    if wrong := generator.problems(base):
        return Expanded(
            topology=topology,
            problems=tuple(replace(problem, key=_below(key, problem.key)) for problem in wrong),
        )
    made = generator.made(base)
    written = replace(
        topology,
        generate=None,
        graphml="",
        switches=tuple(dict.fromkeys((*topology.switches, *made.switches))),
        hosts=tuple(dict.fromkeys((*topology.hosts, *made.hosts))),
        links=(*topology.links, *made.links),
        places=made.places | topology.places,
    )
    return Expanded(topology=written, notes=made.notes)


def _below(key: str, rest: str) -> str:
    return f"{key}.{rest}" if rest and key == "generate" else key


def generated(generator: Generator, base: str | Path = ".") -> Topology:
    """The network that a generator makes, for Python; DeclarationError if it cannot."""
    found = expanded(Topology(generate=generator), Path(base))
    if found.problems:
        raise DeclarationError(found.problems, f"the generator {generator.kind}")
    return found.topology


def written_out(experiment: Experiment, base: Path) -> tuple[Experiment, tuple[str, ...]]:
    """An experiment whose topology is written out, and notes; DeclarationError if its generator
    cannot make one.
    """
    found = expanded(experiment.topology, base)
    if found.problems:
        raise DeclarationError(
            [replace(problem, key=f"topology.{problem.key}") for problem in found.problems],
            experiment.name,
        )
    return replace(experiment, topology=found.topology), found.notes
