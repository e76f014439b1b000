"""Every kind of check that can be declared. Apart from the other tables: a run is made without what
judges it.
"""

from __future__ import annotations

from streambed.kinds import checks
from streambed.kinds.installed import packages, with_installed

CHECKS = with_installed("checks", checks.CHECKS, packages())
