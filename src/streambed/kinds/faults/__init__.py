"""Faults: what can break on the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streambed.kinds.kind_table import KindTable

if TYPE_CHECKING:
    from streambed.kinds.faults.cut import Cut
    from streambed.kinds.faults.degrade import Degrade
    from streambed.kinds.faults.disk.corrupt import Corrupt
    from streambed.kinds.faults.disk.fail_sync import FailSync
    from streambed.kinds.faults.disk.fill_disk import FillDisk
    from streambed.kinds.faults.disk.lose import Lose
    from streambed.kinds.faults.disk.power_failure import PowerFailure
    from streambed.kinds.faults.disk.rewind_checkpoint import RewindCheckpoint
    from streambed.kinds.faults.disk.slow_sync import SlowSync
    from streambed.kinds.faults.elect import Elect
    from streambed.kinds.faults.flap import Flap
    from streambed.kinds.faults.isolate import Isolate
    from streambed.kinds.faults.jam import Jam
    from streambed.kinds.faults.kill import Kill
    from streambed.kinds.faults.partition import Partition
    from streambed.kinds.faults.pause import Pause
    from streambed.kinds.faults.replace import Replace
    from streambed.kinds.faults.restart import Restart
    from streambed.kinds.faults.skew_clock import SkewClock
    from streambed.kinds.faults.slow_cpu import SlowCpu
    from streambed.kinds.faults.stop import Stop

FAULTS: KindTable[Any] = KindTable(
    "streambed.kinds.faults",
    {
        "cut": "cut:Cut",
        "isolate": "isolate:Isolate",
        "partition": "partition:Partition",
        "kill": "kill:Kill",
        "pause": "pause:Pause",
        "degrade": "degrade:Degrade",
        "flap": "flap:Flap",
        "jam": "jam:Jam",
        "stop": "stop:Stop",
        "restart": "restart:Restart",
        "replace": "replace:Replace",
        "slow_cpu": "slow_cpu:SlowCpu",
        "elect": "elect:Elect",
        "skew_clock": "skew_clock:SkewClock",
        "slow_sync": "disk.slow_sync:SlowSync",
        "fail_sync": "disk.fail_sync:FailSync",
        "fill_disk": "disk.fill_disk:FillDisk",
        "power_failure": "disk.power_failure:PowerFailure",
        "corrupt": "disk.corrupt:Corrupt",
        "lose": "disk.lose:Lose",
        "rewind_checkpoint": "disk.rewind_checkpoint:RewindCheckpoint",
    },
)

__all__ = [
    "FAULTS",
    "Corrupt",
    "Cut",
    "Degrade",
    "Elect",
    "FailSync",
    "FillDisk",
    "Flap",
    "Isolate",
    "Jam",
    "Kill",
    "Lose",
    "Partition",
    "Pause",
    "PowerFailure",
    "Replace",
    "Restart",
    "RewindCheckpoint",
    "SkewClock",
    "SlowCpu",
    "SlowSync",
    "Stop",
]


if not TYPE_CHECKING:  # With it in sight, mypy would take any misspelt name for Any.

    def __getattr__(name: str) -> Any:
        return FAULTS.class_called(name)
