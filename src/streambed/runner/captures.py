"""Packet captures of a run: their readiness, and packets that they missed."""

from __future__ import annotations

from collections.abc import Iterator

from streambed.kinds.components.component import when_gauge_is_ready
from streambed.plan import CAPTURE
from streambed.record.events import Note
from streambed.record.gauges import CapturedLink, CaptureGauge
from streambed.runner.live_world import LiveWorld
from streambed.world import Missing


def readiness(world: LiveWorld) -> dict[str, Missing]:
    """For each capture, what is missing until it sees the packets of its links."""
    return {name: when_gauge_is_ready(world, name) for name in _names(world)}


def note_gaps(world: LiveWorld) -> None:
    """Record a note for each capture file that lacks packets."""
    for name in _names(world):
        gauge = world.gauge(name)
        if isinstance(gauge, CaptureGauge):
            for link, captured in gauge.links.items():
                for note in _gaps(link, captured):
                    world.record(note)


def _gaps(link: str, captured: CapturedLink) -> Iterator[Note]:
    if captured.full:
        end = f"it ends after {captured.packets} packets"
        yield Note(says=f"the capture of {link} reached its limit: {end}")
    if captured.lost:
        reason = "they came faster than they could be written"
        yield Note(says=f"the capture of {link} lacks {captured.lost} packets: {reason}")


def _names(world: LiveWorld) -> list[str]:
    return [
        process.name for process in world.processes.values() if process.spec.component == CAPTURE
    ]
