"""Modules that are no part of a package, such as those of an example."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


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
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        modules = [importlib.import_module(name) for name in names]
    beside = {path.stem for path in folder.glob("*.py")}
    for name in beside & (set(sys.modules) - before):
        del sys.modules[name]
    return modules
