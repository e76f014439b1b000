"""Read a declaration in any format, and convert it to YAML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from streambed.declare.experiment import Experiment
from streambed.declare.stream2gym import SUFFIXES
from streambed.declare.stream2gym import reader as stream2gym_reader
from streambed.declare.topology import Topology
from streambed.declare.yaml import reader as yaml_reader
from streambed.declare.yaml import writer
from streambed.declare.yaml.document import document_at


@dataclass(frozen=True, kw_only=True)
class Declared:
    """An experiment, the folder where its relative paths start, and notes on how it was read."""

    experiment: Experiment
    base: Path
    text: str
    notes: tuple[str, ...] = ()


def read(
    path: Path, overrides: Sequence[str] = (), seed: int | None = None, profile: str = ""
) -> Declared:
    """Read a file and check it. DeclarationError lists every problem.

    A fault `profile` adds its faults (declare/fault_profiles.py).
    """
    declared = _read(path, overrides, seed)
    if not profile:
        return declared
    from streambed.declare.fault_profiles import with_profile

    experiment = with_profile(declared.experiment, profile, declared.base)
    return replace(declared, experiment=experiment)


def _read(path: Path, overrides: Sequence[str], seed: int | None) -> Declared:
    if path.suffix.lower() in SUFFIXES:
        return convert(path, overrides, seed, base=path.absolute().parent)
    document = document_at(path, "an experiment")
    experiment = yaml_reader.experiment_of(document, path, overrides, seed)
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
    if path.suffix.lower() not in SUFFIXES:
        return _convert_yaml(path, overrides, seed, base=base)
    experiment, text, notes = stream2gym_reader.read(path, overrides, seed, base=base)
    return Declared(experiment=experiment, base=base, text=text, notes=notes)


def _convert_yaml(
    path: Path, overrides: Sequence[str], seed: int | None, *, base: Path
) -> Declared:
    document = document_at(path, "an experiment")
    experiment = yaml_reader.experiment_of(document, path, overrides, seed)
    home = path.absolute().parent
    notes = list(document.notes)
    if base.resolve() != home.resolve():
        notes.append(f"relative paths start at {home}: keep this file there")
    topology = TypeAdapter(Topology).dump_python(
        experiment.topology, mode="json", exclude_defaults=True
    )
    content = {**document.content, "topology": topology}
    head = [f"Converted from {path.name}.", *(f"- {note}" for note in notes)]
    text = writer.yaml_text(content, head)
    return Declared(experiment=experiment, base=base, text=text, notes=tuple(notes))
