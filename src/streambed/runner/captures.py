"""Captures of a run: that they have begun, and what they missed."""

from __future__ import annotations

from streambed.kinds.components.component import when_gauge_is_ready
from streambed.plan import CAPTURE
from streambed.record.events import Note
from streambed.record.gauges import CaptureGauge
from streambed.runner.live_world import LiveWorld
from streambed.world import Missing


def readiness(world: LiveWorld) -> dict[str, Missing]:
    """What is still missing until every link that is captured is watched."""
    return {name: when_gauge_is_ready(world, name) for name in _names(world)}


def note_gaps(world: LiveWorld) -> None:
    """Tell the user which files do not have every packet."""
    for name in _names(world):
        gauge = world.gauge(name)
        for link, captured in gauge.links.items() if isinstance(gauge, CaptureGauge) else ():
            if captured.full:
                world.record(
                    Note(
                        says=f"the capture of {link} reached its limit: it ends after {captured.packets} packets"
                    )
                )
            if captured.lost:
                says = f"the capture of {link} lacks {captured.lost} packets: they came faster than they could be written"
                world.record(Note(says=says))


def _names(world: LiveWorld) -> list[str]:
    return [
        process.name for process in world.processes.values() if process.spec.component == CAPTURE
    ]
