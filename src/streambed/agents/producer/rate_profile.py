"""Rate profiles: from a declared rate to stretches, from declared arrivals to positions. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from streambed.agents.producer.timetable import Numbers, RateCurve, Stretch, Timetable
from streambed.record.orders import ProfileOrder, ScheduleOrder

LOGNORMAL_SPREAD = 1.0
CONSTANT = ProfileOrder(shape="constant")
PARETO_SHAPE = 2.5
"""Above 2, so that the gaps have a variance."""


def timetable_of(order: ScheduleOrder, *, shift: float, seed: str) -> Timetable:
    """When the records of a producer with a rate are due."""
    assert order.rate is not None
    profile = order.profile or CONSTANT
    load_s = order.duration_ns / 1e9
    if profile.shape == "trace" and profile.column == "times":
        times = read_times(Path(profile.file), profile.speed)
        return Timetable.at_times(times, until_s=load_s)
    stretches_of = SHAPES[profile.shape]
    stretches = cut(stretches_of(order.rate, profile, load_s), load_s)
    course = RateCurve(list(stretches))
    arrivals = positions(course.count, order.arrivals, seed)
    return Timetable(course, arrivals, shift=shift)


def _constant(rate: float, profile: ProfileOrder, load_s: float) -> Iterator[Stretch]:
    yield _level(rate, load_s)


def _ramp(rate: float, profile: ProfileOrder, load_s: float) -> Iterator[Stretch]:
    yield Stretch(lasts_s=profile.lasts_s or load_s, first=rate, last=profile.to)
    yield _level(profile.to, load_s)


def _steps(rate: float, profile: ProfileOrder, load_s: float) -> Iterator[Stretch]:
    lasts_s = profile.lasts_s or load_s / len(profile.rates)
    for step in profile.rates:
        yield _level(step, lasts_s)
    yield _level(profile.rates[-1], load_s)


def _spike(rate: float, profile: ProfileOrder, load_s: float) -> Iterator[Stretch]:
    yield _level(rate, profile.at_s or 0.0)
    yield _level(profile.to, profile.lasts_s)
    yield _level(rate, load_s)


def _on_off(rate: float, profile: ProfileOrder, load_s: float) -> Iterator[Stretch]:
    period_s = profile.bursts_s + profile.pauses_s
    for _ in range(int(load_s / period_s) + 1):
        yield _level(rate, profile.bursts_s)
        yield _level(0.0, profile.pauses_s)


def _trace(rate: float, profile: ProfileOrder, load_s: float) -> Iterator[Stretch]:
    step_s = profile.interval_s / profile.speed
    for number in read_numbers(Path(profile.file)).tolist():
        yield _level(number / step_s, step_s)


SHAPES: dict[str, Callable[[float, ProfileOrder, float], Iterator[Stretch]]] = {
    "constant": _constant,
    "ramp": _ramp,
    "steps": _steps,
    "spike": _spike,
    "on_off": _on_off,
    "trace": _trace,
}


def _level(rate: float, lasts_s: float) -> Stretch:
    return Stretch(lasts_s=lasts_s, first=rate, last=rate)


def cut(stretches: Iterator[Stretch], load_s: float) -> Iterator[Stretch]:
    """The stretches within the load; the last one is cut at the load's end."""
    left_s = load_s
    for stretch in stretches:
        if left_s <= 0:
            return
        lasts_s = min(stretch.lasts_s, left_s)
        share = lasts_s / stretch.lasts_s if stretch.lasts_s else 0.0
        rise = stretch.last - stretch.first
        yield Stretch(lasts_s=lasts_s, first=stretch.first, last=stretch.first + rise * share)
        left_s -= lasts_s


def read_numbers(path: Path) -> Numbers:
    """The numbers of a trace, one a line; exits if a line is not a number of 0 or more."""
    values = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            value = float(line)
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise SystemExit(f"{path}, line {number}: '{line}' is not a number of 0 or more")
        values.append(value)
    return np.array(values, dtype=np.float64)


def read_times(path: Path, speed: float) -> Numbers:
    """The times of a trace, played `speed` times as fast."""
    times = read_numbers(path) / speed
    falls = np.diff(times) < 0
    if np.any(falls):
        line = int(np.argmax(falls)) + 2
        raise SystemExit(f"{path}, line {line}: this time is before the one above it")
    return times


def positions(count: int, arrivals: str, seed: str) -> Numbers | None:
    """The position of each record among all, if the gaps are random; their number stays the same.

    With exponential gaps this is a Poisson process with a given number of arrivals.
    """
    if arrivals == "constant":
        return None
    number_of_seed = random.Random(f"{seed} arrivals").getrandbits(64)
    drawing = np.random.default_rng(number_of_seed)
    draw: dict[str, Callable[[int], Numbers]] = {
        "exponential": lambda size: drawing.exponential(size=size),
        "uniform": lambda size: drawing.uniform(0, 2, size=size),
        "lognormal": lambda size: drawing.lognormal(sigma=LOGNORMAL_SPREAD, size=size),
        "pareto": lambda size: drawing.pareto(PARETO_SHAPE, size=size),
    }
    passed = np.cumsum(draw[arrivals](count + 1))
    return np.asarray(passed[:-1] * (count / passed[-1]), dtype=np.float64)
