"""Every kind of component and fault that can be declared: ours, and those of installed packages."""

from __future__ import annotations

from collections.abc import Iterable

from streambed.artifacts import Need, name_of
from streambed.kinds import components, faults
from streambed.kinds.installed import packages, with_installed

COMPONENTS = with_installed("components", components.COMPONENTS, packages())
FAULTS = with_installed("faults", faults.FAULTS, packages())


def needs_of(kinds: Iterable[str]) -> list[Need]:
    """What components of these kinds need, each artifact once."""
    needs = {name_of(need): need for kind in kinds for need in COMPONENTS[kind].needs}
    return list(needs.values())
