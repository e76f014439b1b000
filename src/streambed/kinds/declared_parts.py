"""The components, faults and checks of a declaration, brought back as objects.

A plan and a kept run hold their declaration as plain data; the planner has checked it already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from streambed.errors import FormatError, suggestion
from streambed.kinds.components.component import Component
from streambed.kinds.faults.fault import Fault
from streambed.kinds.tables import COMPONENTS, FAULTS


@dataclass(frozen=True, kw_only=True)
class DeclaredParts:
    """Who takes part in a run."""

    components: dict[str, Component]
    faults: tuple[Fault, ...]


def declared_parts_of(declaration: Mapping[str, Any]) -> DeclaredParts:
    """The components and faults of a declaration."""
    return DeclaredParts(
        components=components_of(declaration),
        faults=tuple(revive(FAULTS, fault) for fault in declaration.get("faults", ())),
    )


def components_of(declaration: Mapping[str, Any]) -> dict[str, Component]:
    """The components of a declaration, by name."""
    bodies = declaration.get("components", {})
    return {name: revive(COMPONENTS, {"name": name, **body}) for name, body in bodies.items()}


def revive(kinds: Mapping[str, type], body: Mapping[str, Any]) -> Any:
    """One of these kinds, from plain data; FormatError if this version cannot make it."""
    kind = body["kind"]
    if kind not in kinds:
        raise FormatError(
            f"the run declares the kind '{kind}', which is not installed here. "
            f"{suggestion(kind, kinds)}"
        )
    try:
        return TypeAdapter(kinds[kind]).validate_python(body)
    except ValidationError as error:
        name = body.get("name", kind)
        raise FormatError(
            f"the run declares '{name}' in a way that this version does not understand: {error}"
        ) from None
