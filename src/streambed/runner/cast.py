"""The cast: the components and faults of a plan, brought back from its declaration.

The conductor needs nothing else of an experiment; leaving out topology and checks spares it the libraries that these need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from streambed.kinds.components import COMPONENTS
from streambed.kinds.components.component import Component
from streambed.kinds.faults import FAULTS
from streambed.kinds.faults.fault import Fault


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Who takes part in a run."""

    components: tuple[Component, ...]
    faults: tuple[Fault, ...]


def cast_of(declaration: Mapping[str, Any]) -> Cast:
    """Make them again; the planner has checked them already."""
    return Cast(
        components=tuple(_revived(COMPONENTS, {"name": name, **found}) for name, found in declaration["components"].items()),
        faults=tuple(_revived(FAULTS, found) for found in declaration["faults"]),
    )


def _revived(kinds: Mapping[str, type], found: Mapping[str, Any]) -> Any:
    return TypeAdapter(kinds[found["kind"]]).validate_python(found)
