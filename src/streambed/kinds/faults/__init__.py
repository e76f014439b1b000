"""Faults: what can break on the timeline."""

from streambed.kinds.faults.cut import Cut
from streambed.kinds.faults.kill import Kill

FAULTS = {"cut": Cut, "kill": Kill}

__all__ = ["FAULTS", "Cut", "Kill"]
