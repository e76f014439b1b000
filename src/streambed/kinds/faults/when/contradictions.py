"""Faults that contradict each other: two that hold one thing at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING

from streambed.errors import Problem
from streambed.kinds.declared_components import Components
from streambed.kinds.faults.of_links import Links
from streambed.plan import PlannedInjection
from streambed.units import Duration

if TYPE_CHECKING:
    from streambed.kinds.faults.fault import Fault, Held


def contradictions(
    faults: Sequence[Fault],
    injections: Sequence[PlannedInjection],
    links: Links,
    components: Components,
) -> list[Problem]:
    """One problem for each fault that comes while another holds its target; the later one has it.

    Faults with a trigger are left out: their times are not known yet.
    """
    problems: dict[int, Problem] = {}
    for first, second in _overlapping_pairs(injections):
        one, other = faults[first.fault], faults[second.fault]
        shared = _common_holding(one.holds(links, components), other.holds(links, components))
        if shared and second.fault not in problems:
            problems[second.fault] = _problem(one, first, second, shared)
    return list(problems.values())


def _overlapping_pairs(
    injections: Sequence[PlannedInjection],
) -> Iterator[tuple[PlannedInjection, PlannedInjection]]:
    """Pairs of different faults that are active at one time, the earlier first."""
    timed = [injection for injection in injections if not injection.trigger]
    for one, other in combinations(timed, 2):
        first, second = sorted((one, other), key=lambda injection: injection.at_ns)
        end_ns = max(first.at_ns + 1, first.at_ns + first.lasts_ns)
        if first.fault != second.fault and second.at_ns < end_ns:
            yield first, second


def _common_holding(one: Sequence[Held], other: Sequence[Held]) -> Held | None:
    for held, wanted in product(one, other):
        same = held.what == wanted.what
        if same and (held.alone or wanted.alone or held.state == wanted.state):
            return held
    return None


def _problem(
    one: Fault, first: PlannedInjection, second: PlannedInjection, shared: Held
) -> Problem:
    at, end = Duration(second.at_ns), Duration(first.at_ns + first.lasts_ns)
    says = (
        f"at {at} {shared.what} is {shared.state} already: faults.{first.fault} ({one.kind}) lasts "
        f"until {end}. Begin at {end} or later, or choose another target"
    )
    return Problem(key=f"faults.{second.fault}.at", says=says)
