"""Agents are run as files, so their names must not hide modules of Python."""

from __future__ import annotations

import sys
from pathlib import Path

from streambed import agents


def test_no_agent_is_called_as_a_module_of_python() -> None:
    """An agent run as a file has its folder first on Python's path: it would hide the module."""
    assert [
        path.stem
        for path in Path(agents.__file__).parent.glob("*.py")
        if path.stem in sys.stdlib_module_names
    ] == []
