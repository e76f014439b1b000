"""Every kind of component and fault that can be declared: ours, and those of installed packages."""

from __future__ import annotations

from streambed.kinds import components, faults
from streambed.kinds.installed import packages, with_installed

COMPONENTS = with_installed("components", components.COMPONENTS, packages())
FAULTS = with_installed("faults", faults.FAULTS, packages())
