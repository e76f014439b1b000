"""Modules that are no part of a package, such as those of an example."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType


def load_module(path: Path) -> ModuleType:
    """The module in a file that imports no file beside it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_example(folder: Path, *names: str) -> list[ModuleType]:
    """Modules of an example, which import each other by their bare names. The names are forgotten
    afterwards, because another example has modules of the same names.
    """
    before = set(sys.modules)
    finder = Beside(folder)
    sys.meta_path.insert(0, finder)
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        sys.meta_path.remove(finder)
        beside = {path.stem for path in folder.glob("*.py")}
        for name in beside & (set(sys.modules) - before):
            del sys.modules[name]


class Beside(MetaPathFinder):
    """Finds the modules of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None:  # It belongs to a package.
            return None
        return PathFinder.find_spec(fullname, [self._folder])
