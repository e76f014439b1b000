"""The timeline: faults are injected and healed at their times, and healed on every way out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streambed.errors import StreambedError
from streambed.kinds.faults.fault import Fault
from streambed.record import now_ns
from streambed.runner.live_world import LiveWorld
from streambed.world import Heal


@dataclass(frozen=True, order=True)
class Moment:
    """Something to do at a time after the start of the load."""

    at_ns: int
    heals: bool
    fault: int


def moments(faults: Sequence[Fault]) -> list[Moment]:
    """All injections and healings in order; at the same time, injections come first."""
    injections = [Moment(fault.at.ns, False, number) for number, fault in enumerate(faults)]
    healings = [Moment(fault.at.ns + fault.lasts.ns, True, number) for number, fault in enumerate(faults)]
    return sorted(injections + healings)


class Timeline:
    """The faults of a run, and how to heal those that are active."""

    def __init__(self, faults: Sequence[Fault], world: LiveWorld) -> None:
        self._faults = faults
        self._world = world
        self._heals: dict[int, Heal] = {}

    def follow(self, start_ns: int, end_ns: int) -> None:
        """Do everything that is due between the start and the end of the load."""
        for moment in moments(self._faults):
            due_ns = start_ns + moment.at_ns
            if due_ns > end_ns:
                break
            self._wait_until(due_ns)
            if moment.heals:
                self.heal(moment.fault)
            else:
                self._inject(moment.fault, late_ns=now_ns() - due_ns)
        self._wait_until(end_ns)

    def _wait_until(self, time_ns: int) -> None:
        self._world.wait(lambda: now_ns() >= time_ns, limit_s=max(0, time_ns - now_ns()) / 1e9)

    def _inject(self, number: int, *, late_ns: int) -> None:
        fault = self._faults[number]
        self._heals[number] = fault.inject(self._world)
        self._world.record("inject", fault=number, kind=fault.kind, target=fault.aim, lasts_ns=fault.lasts.ns, late_ns=late_ns)

    def heal(self, number: int) -> None:
        """Heal one fault if it is active; a failure to heal is recorded, and the others are healed all the same."""
        heal = self._heals.pop(number, None)
        if heal is None:
            return
        fault = self._faults[number]
        try:
            heal()
            self._world.record("heal", fault=number, kind=fault.kind, target=fault.aim)
        except (OSError, StreambedError) as error:
            self._world.record("heal_failed", fault=number, kind=fault.kind, target=fault.aim, reason=str(error))

    def heal_all(self) -> None:
        """Heal whatever is still broken."""
        for number in list(self._heals):
            self.heal(number)


@contextlib.contextmanager
def timeline(faults: Sequence[Fault], world: LiveWorld) -> Iterator[Timeline]:
    """A timeline whose faults are healed on every way out."""
    made = Timeline(faults, world)
    try:
        yield made
    finally:
        made.heal_all()
