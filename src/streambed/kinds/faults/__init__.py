"""Faults: what can break on the timeline."""

from streambed.kinds.faults.cut import Cut
from streambed.kinds.faults.degrade import Degrade
from streambed.kinds.faults.isolate import Isolate
from streambed.kinds.faults.kill import Kill
from streambed.kinds.faults.partition import Partition
from streambed.kinds.faults.pause import Pause

FAULTS = {
    "cut": Cut,
    "isolate": Isolate,
    "partition": Partition,
    "kill": Kill,
    "pause": Pause,
    "degrade": Degrade,
}

__all__ = ["FAULTS", "Cut", "Degrade", "Isolate", "Kill", "Partition", "Pause"]
