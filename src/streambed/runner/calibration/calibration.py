"""Calibration: before anything runs, measure the delay of each link in both directions.

Rates are measured on demand. The loopback of a host is measured too: its delay is the cost of
sending and receiving, and is subtracted. A direction that is wrong is measured again, because a
busy moment of the machine passes, and a wrong link stays wrong.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean, median

from streambed.plan import Plan, Shape
from streambed.record import now_ns
from streambed.record.calibration import LinkCalibration
from streambed.record.events import Calibrated, Calibration
from streambed.runner.calibration.probing import ProbedDirection, arriving, directions_of, measure
from streambed.runner.calibration.rate import rates
from streambed.runner.live_world import LiveWorld

PAUSES_NS = (0, 100_000_000, 300_000_000, 600_000_000, 1_200_000_000)
"""Pause before each round. Only directions that are wrong are measured more than once."""
CHANCE = 3.0
"""Tolerated error of a mean, in standard errors."""
Calibrations = dict[tuple[str, str], LinkCalibration]
"""By link and the node that sends."""


def calibrate(world: LiveWorld) -> None:
    """Measure all links at once and record the results.

    Takes a tenth of a second plus the longest delay; rates take longer.
    """
    began_ns = now_ns()
    calibrations = Calibrations()
    baseline_ns = 0
    for pause_ns in PAUSES_NS:
        wanted = []
        for direction in directions_of(world.plan):
            if direction.key not in calibrations or calibrations[direction.key].wrong:
                wanted.append(direction)
        if not wanted:
            break
        world.rest_until(now_ns() + pause_ns)
        baseline_ns = measure(world, wanted)
        calibrations |= {
            direction.key: calibration_of(direction, baseline_ns) for direction in wanted
        }
        if world.plan.calibrates_rates:
            calibrations |= with_rates(world.plan, calibrations, rates(world, wanted))
    for link in world.plan.links:
        directions = tuple(calibrations[link.name, port.node] for port in link.ports)
        world.record(Calibrated(link=link.name, ways=directions))
    seconds = round((now_ns() - began_ns) / 1e9, 3)
    world.record(Calibration(links=len(world.plan.links), baseline_ns=baseline_ns, seconds=seconds))


def with_rates(
    plan: Plan, calibrations: Calibrations, measured_bps: dict[tuple[str, str], int]
) -> Calibrations:
    """The calibrations of the directions with a rate, with their measured rates."""
    declared_bps = {direction.key: direction.shape.rate_bps for direction in directions_of(plan)}
    return {
        key: replace(calibrations[key], declared_bps=declared_bps[key], measured_bps=bps)
        for key, bps in measured_bps.items()
    }


def expected_ns(shape: Shape) -> tuple[float, float]:
    """The expected mean and standard deviation of the delay, by jitter and reordering."""
    deviation = shape.jitter_ns / (math.sqrt(3) if shape.distribution == "uniform" else 1)
    hasty = shape.reorder * (1 - shape.reorder) * shape.delay_ns**2
    return shape.delay_ns * (1 - shape.reorder), math.sqrt(deviation**2 + hasty)


def calibration_of(direction: ProbedDirection, baseline_ns: int) -> LinkCalibration:
    """The result of one direction: the median of a constant delay, else the mean and its error."""
    declared_ns, deviation_ns = expected_ns(direction.shape)
    took = list(direction.took_ns.values())
    measured_ns = None
    if took:
        measured_ns = (fmean(took) if deviation_ns else median(took)) - baseline_ns
    by_chance = deviation_ns
    if (
        not direction.shape.in_order
    ):  # In order, packets wait for each other: they are not independent.
        by_chance = deviation_ns / math.sqrt(len(took) or 1)
    return LinkCalibration(
        link=direction.link,
        source=direction.sender.node,
        target=direction.receiver.node,
        declared_ns=round(declared_ns),
        measured_ns=None if measured_ns is None else round(measured_ns),
        chance_ns=round(CHANCE * by_chance),
        probes=len(direction.sent_ns),
        arrived=len(took),
        loses_all=arriving(direction.shape) <= 0,
    )
