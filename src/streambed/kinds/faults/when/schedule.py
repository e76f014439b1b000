"""The schedule: every injection of a run, drawn before anything starts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from streambed.errors import Problem
from streambed.kinds.declared_components import Components
from streambed.kinds.faults.when.timing import TIMES_MAX
from streambed.plan import PlannedInjection
from streambed.units import Duration

if TYPE_CHECKING:
    from streambed.kinds.faults.fault import Fault
    from streambed.kinds.faults.when.timing import Timing

MS_NS = 1_000_000
"""Drawn times are whole milliseconds, as people write them."""


def schedule(faults: Sequence[Fault], *, duration_ns: int, seed: int) -> list[PlannedInjection]:
    """All injections in order; those that wait for a trigger come at the time it begins to count.

    `timing_problems` must have found none.
    """
    planned = []
    for number, fault in enumerate(faults):
        trigger = fault.timing.trigger
        for at_ns in _times(fault, number, duration_ns, seed):
            planned.append(
                PlannedInjection(
                    fault=number,
                    at_ns=at_ns,
                    lasts_ns=fault.lasts.ns,
                    trigger=str(trigger) if trigger else "",
                )
            )
    return sorted(planned, key=lambda injection: injection.at_ns)


def _times(fault: Fault, number: int, duration_ns: int, seed: int) -> Iterator[int]:
    timing = fault.timing
    first_ns = timing.at.ns if timing.at else 0
    if timing.churn:
        yield from _random_times(
            random.Random(f"{seed} churn {number}"),
            timing.churn,
            first_ns=first_ns,
            last_ns=duration_ns,
            lasts_ns=fault.lasts.ns,
        )
    elif timing.every:
        for count in range(timing.repeat or _times_until(duration_ns, first_ns, fault)):
            yield first_ns + count * timing.every.ns
    else:
        yield first_ns


def _times_until(duration_ns: int, first_ns: int, fault: Fault) -> int:
    """How often a fault comes, and is over, before the load ends."""
    assert fault.timing.every
    left_ns = duration_ns - first_ns - fault.lasts.ns
    return 1 + max(0, left_ns) // fault.timing.every.ns


def _random_times(
    chance: random.Random, count: int, *, first_ns: int, last_ns: int, lasts_ns: int
) -> Iterator[int]:
    """Times drawn evenly from those at which the fault never meets itself."""
    free_ns = last_ns - first_ns - count * lasts_ns
    starts = sorted(chance.randint(0, free_ns) for _ in range(count))
    for before, start_ns in enumerate(starts):
        at_ns = first_ns + start_ns + before * lasts_ns
        yield at_ns // MS_NS * MS_NS


def timing_problems(fault: Fault, duration: Duration) -> list[Problem]:
    """Keys that contradict each other, or a load that is too short."""
    timing = fault.timing
    return (
        _key_problems(timing)
        or _self_overlap(fault)
        or _length_problems(fault, duration)
        or _number_problems(fault, duration)
    )


def trigger_problems(fault: Fault, components: Components) -> list[Problem]:
    """Why the trigger of a fault can never fire."""
    trigger = fault.timing.trigger
    says = trigger.problem(components) if trigger else ""
    if not says:
        return []
    return [Problem(key="after" if trigger and trigger.counts else "when", says=says)]


def _key_problems(timing: Timing) -> list[Problem]:
    if timing.trigger and (timing.every or timing.churn):
        key = "every" if timing.every else "churn"
        says = "a trigger comes once: give `every` or `churn`, or `after` or `when`, not both"
        return [Problem(key=key, says=says)]
    if timing.every and timing.churn:
        says = "give `every` for regular times, or `churn` for random ones, not both"
        return [Problem(key="churn", says=says)]
    if timing.repeat and not timing.every:
        says = "the interval is missing: give `every` too, or `churn` for random times"
        return [Problem(key="repeat", says=says)]
    if timing.at is None and not (timing.trigger or timing.churn):
        says = "the time is missing: give `at`, or `after` or `when` for a trigger, or `churn`"
        return [Problem(key="at", says=says)]
    return []


def _self_overlap(fault: Fault) -> list[Problem]:
    every = fault.timing.every
    if every is None or every.ns > fault.lasts.ns:
        return []
    says = f"it lasts {fault.lasts}, so it would begin again before it is over: give more than that"
    return [Problem(key="every", says=says)]


def _number_problems(fault: Fault, duration: Duration) -> list[Problem]:
    timing = fault.timing
    if timing.every is None or timing.repeat or timing.at is None:
        return []
    times = _times_until(duration.ns, timing.at.ns, fault)
    if times <= TIMES_MAX:
        return []
    says = (
        f"it would come {times} times, and at most {TIMES_MAX} are allowed: "
        "give `repeat`, or a longer `every`"
    )
    return [Problem(key="every", says=says)]


def _length_problems(fault: Fault, duration: Duration) -> list[Problem]:
    timing = fault.timing
    first = timing.at or Duration(0)
    times = timing.churn or timing.repeat or 1
    step = timing.every or fault.lasts
    end = Duration(first.ns + (times - 1) * step.ns + fault.lasts.ns)
    if first >= duration:
        key, text = "at", f"it begins at {first}"
    elif end > duration and times > 1:
        key = "churn" if timing.churn else "repeat"
        text = f"{times} times need at least until {end}"
    elif end > duration:
        key, text = "lasts", f"it ends at {end}"
    else:
        return []
    advice = f"begin earlier, or lengthen `duration` to {end} or more"
    return [Problem(key=key, says=f"{text}, but the load lasts only {duration}: {advice}")]
