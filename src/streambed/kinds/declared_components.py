"""The declared components of an experiment, as kinds see each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # It imports modules that need this one.
    from streambed.kinds.components.component import Component

Components = Mapping[str, "Component"]
"""By name."""
