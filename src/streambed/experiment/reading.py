"""Reading a declaration, whatever its format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streambed.experiment import yaml_file
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
    experiment = yaml_file.read(path, overrides, seed)
    return Declared(experiment=experiment, base=path.absolute().parent, text=path.read_text())
