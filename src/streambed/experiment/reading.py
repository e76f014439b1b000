"""Reading a declaration, whatever its format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streambed.experiment import graphml_file, stream2gym, yaml_file
from streambed.experiment.model import Experiment


@dataclass(frozen=True, kw_only=True)
class Declared:
    """An experiment, where its relative paths start, and what its reader should know about how it was understood."""

    experiment: Experiment
    base: Path
    text: str
    notes: tuple[str, ...] = ()


def read(path: Path, overrides: Sequence[str] = (), seed: int | None = None) -> Declared:
    """Read a file and check it; DeclarationError lists all that is wrong."""
    if path.suffix.lower() in graphml_file.SUFFIXES:
        return converted(path, overrides, seed, base=path.absolute().parent)
    experiment = yaml_file.read(path, overrides, seed)
    return Declared(experiment=experiment, base=path.absolute().parent, text=path.read_text())


def converted(path: Path, overrides: Sequence[str] = (), seed: int | None = None, *, base: Path) -> Declared:
    """What a stream2gym file comes to: its text is YAML that declares the same if it is kept in the folder `base`."""
    experiment, text, notes = stream2gym.read(path, overrides, seed, base=base)
    return Declared(experiment=experiment, base=base, text=text, notes=notes)
