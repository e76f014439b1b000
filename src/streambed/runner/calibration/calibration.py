"""Calibration: before anything runs, the delay of each way of each link is measured over that very
wire, and its rate on demand.

The loopback of a host is measured beside the links: what a packet takes there is what sending and
receiving cost, and no link's fault. A way that is wrong is measured again, because a busy moment of
the machine passes, and a wrong link stays wrong.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean, median

from streambed.plan import Plan, Shape
from streambed.record import now_ns
from streambed.record.calibration import LinkCalibration
from streambed.record.events import Calibrated, Calibration
from streambed.runner.calibration.probing import Way, arriving, measure, ways_of
from streambed.runner.calibration.rate import rates
from streambed.runner.live_world import LiveWorld

PAUSES_NS = (0, 100_000_000, 300_000_000, 600_000_000, 1_200_000_000)
"""So long passes before each round. Only what is wrong is measured more than once."""
CHANCE = 3.0
"""A mean may be off by so many of its standard errors."""
Found = dict[tuple[str, str], LinkCalibration]
"""By link and the node that sends."""


def calibrate(world: LiveWorld) -> None:
    """Measure all links at once and record what was found. Takes a tenth of a second and the
    longest delay; rates take longer.
    """
    began_ns, found, baseline_ns = now_ns(), Found(), 0
    for pause_ns in PAUSES_NS:
        wanted = [
            way for way in ways_of(world.plan) if way.key not in found or found[way.key].wrong
        ]
        if not wanted:
            break
        world.rest_until(now_ns() + pause_ns)
        baseline_ns = measure(world, wanted)
        found |= {way.key: calibration_of(way, baseline_ns) for way in wanted}
        if world.plan.declaration.get("calibrate") == "rate":
            found |= with_rates(world.plan, found, rates(world, wanted))
    for link in world.plan.links:
        ways = tuple(found[link.name, port.node] for port in link.ports)
        world.record(Calibrated(link=link.name, ways=ways))
    seconds = round((now_ns() - began_ns) / 1e9, 3)
    world.record(Calibration(links=len(world.plan.links), baseline_ns=baseline_ns, seconds=seconds))


def with_rates(plan: Plan, found: Found, measured_bps: dict[tuple[str, str], int]) -> Found:
    """What was found, with the rates of those ways that have one."""
    declared_bps = {way.key: way.shape.rate_bps for way in ways_of(plan)}
    return {
        key: replace(found[key], declared_bps=declared_bps[key], measured_bps=bps)
        for key, bps in measured_bps.items()
    }


def expected_ns(shape: Shape) -> tuple[float, float]:
    """How long a packet should take in the mean, and the standard deviation of that: some draw
    jitter, some are not delayed at all.
    """
    deviation = shape.jitter_ns / (math.sqrt(3) if shape.distribution == "uniform" else 1)
    hasty = shape.reorder * (1 - shape.reorder) * shape.delay_ns**2
    return shape.delay_ns * (1 - shape.reorder), math.sqrt(deviation**2 + hasty)


def calibration_of(way: Way, baseline_ns: int) -> LinkCalibration:
    """What the packets of a way say of it: their median where all should take the same, else their
    mean and what chance may do to it.
    """
    declared_ns, deviation_ns = expected_ns(way.shape)
    took = list(way.took_ns.values())
    measured_ns = (fmean(took) if deviation_ns else median(took)) - baseline_ns if took else None
    by_chance = (
        deviation_ns if way.shape.in_order else deviation_ns / math.sqrt(len(took) or 1)
    )  # Who may not overtake waits for others.
    return LinkCalibration(
        link=way.link,
        source=way.sender.node,
        target=way.receiver.node,
        declared_ns=round(declared_ns),
        measured_ns=None if measured_ns is None else round(measured_ns),
        chance_ns=round(CHANCE * by_chance),
        probes=len(way.sent_ns),
        arrived=len(took),
        loses_all=arriving(way.shape) <= 0,
    )
