"""Read a declaration in any format, and convert it to YAML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from streambed.declare.experiment import Experiment
from streambed.declare.stream2gym import graphml
from streambed.declare.stream2gym import reader as stream2gym_reader
from streambed.declare.topology import Topology
from streambed.declare.yaml import reader as yaml_reader
from streambed.declare.yaml.document import document_at
from streambed.declare.yaml.writer import yaml_text


@dataclass(frozen=True, kw_only=True)
class Declared:
    """An experiment, the folder where its relative paths start, and notes on how it was read."""

    experiment: Experiment
    base: Path
    text: str
    notes: tuple[str, ...] = ()


def read(path: Path, overrides: Sequence[str] = (), seed: int | None = None) -> Declared:
    """Read a file and check it. DeclarationError lists every problem."""
    if path.suffix.lower() in graphml.SUFFIXES:
        return convert(path, overrides, seed, base=path.absolute().parent)
    document = document_at(path, "an experiment")
    experiment = yaml_reader.understood(document, path, overrides, seed)
    return Declared(
        experiment=experiment,
        base=path.absolute().parent,
        text=path.read_text(),
        notes=tuple(document.notes),
    )


def convert(
    path: Path, overrides: Sequence[str] = (), seed: int | None = None, *, base: Path
) -> Declared:
    """Read a file in any format; `text` of the result is the same declaration in YAML, with every
    node and link, to be stored in the folder `base`.
    """
    if path.suffix.lower() not in graphml.SUFFIXES:
        return _convert_yaml(path, overrides, seed, base=base)
    experiment, text, notes = stream2gym_reader.read(path, overrides, seed, base=base)
    return Declared(experiment=experiment, base=base, text=text, notes=notes)


def _convert_yaml(
    path: Path, overrides: Sequence[str], seed: int | None, *, base: Path
) -> Declared:
    document = document_at(path, "an experiment")
    experiment = yaml_reader.understood(document, path, overrides, seed)
    home = path.absolute().parent
    notes = list(document.notes)
    if base.resolve() != home.resolve():
        notes.append(f"relative paths start at {home}: keep this file there")
    topology = TypeAdapter(Topology).dump_python(
        experiment.topology, mode="json", exclude_defaults=True
    )
    content = {**document.content, "topology": topology}
    text = yaml_text(content, [f"Converted from {path.name}.", *(f"- {note}" for note in notes)])
    return Declared(experiment=experiment, base=base, text=text, notes=tuple(notes))
