"""The names of `streambed`: every kind of the tables, and the few that are no kinds."""

from __future__ import annotations

import subprocess
import sys

import pytest

import streambed
from streambed.declare.generators import GENERATORS
from streambed.kinds.checks import CHECKS
from streambed.kinds.components import COMPONENTS
from streambed.kinds.faults import FAULTS

TABLES = (CHECKS, COMPONENTS, FAULTS, GENERATORS)


@pytest.mark.parametrize("table", TABLES)
def test_every_kind_is_a_public_name(table: dict[str, type]) -> None:
    for kind in table.values():
        assert getattr(streambed, kind.__name__) is kind
        assert kind.__name__ in streambed.__all__


def test_every_public_name_can_be_imported() -> None:
    loaded = {name: getattr(streambed, name) for name in streambed.__all__}

    assert all(loaded[name].__name__ == name for name in loaded)
    assert set(loaded) <= set(dir(streambed))


def test_an_unknown_name_is_no_attribute() -> None:
    for name in ("Kafak", "no_such_module"):
        with pytest.raises(AttributeError, match=f"module 'streambed' has no attribute '{name}'"):
            getattr(streambed, name)


@pytest.mark.parametrize("statement", ["import streambed", "from streambed import units"])
def test_no_table_is_loaded_before_a_name_of_it_is_used(statement: str) -> None:
    program = f"import sys\n{statement}\nprint('streambed.kinds' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout == "False\n"
