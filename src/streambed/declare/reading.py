"""Reading a declaration, whatever its format."""

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
    """An experiment, where its relative paths start, and what its reader should know about how it
    was understood.
    """

    experiment: Experiment
    base: Path
    text: str
    notes: tuple[str, ...] = ()


def read(path: Path, overrides: Sequence[str] = (), seed: int | None = None) -> Declared:
    """Read a file and check it; DeclarationError lists all that is wrong."""
    if path.suffix.lower() in graphml.SUFFIXES:
        return converted(path, overrides, seed, base=path.absolute().parent)
    document = document_at(path, "an experiment")
    experiment = yaml_reader.understood(document, path, overrides, seed)
    return Declared(
        experiment=experiment,
        base=path.absolute().parent,
        text=path.read_text(),
        notes=tuple(document.notes),
    )


def converted(
    path: Path, overrides: Sequence[str] = (), seed: int | None = None, *, base: Path
) -> Declared:
    """What a file comes to: its text is YAML that declares the same, with a network written out, if
    it is kept in the folder `base`.
    """
    if path.suffix.lower() not in graphml.SUFFIXES:
        return _written_out(path, overrides, seed, base=base)
    experiment, text, notes = stream2gym_reader.read(path, overrides, seed, base=base)
    return Declared(experiment=experiment, base=base, text=text, notes=notes)


def _written_out(path: Path, overrides: Sequence[str], seed: int | None, *, base: Path) -> Declared:
    document = document_at(path, "an experiment")
    experiment = yaml_reader.understood(document, path, overrides, seed)
    home = path.absolute().parent
    notes = [
        *document.notes,
        *(
            [f"relative paths start at {home}: keep this file there"]
            if base.resolve() != home.resolve()
            else []
        ),
    ]
    content = {
        **document.content,
        "topology": TypeAdapter(Topology).dump_python(
            experiment.topology, mode="json", exclude_defaults=True
        ),
    }
    text = yaml_text(content, [f"Converted from {path.name}.", *(f"- {note}" for note in notes)])
    return Declared(experiment=experiment, base=base, text=text, notes=tuple(notes))
