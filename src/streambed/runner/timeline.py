"""The timeline injects and heals faults at their times, and heals the rest at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streambed.errors import StreambedError, WorldError
from streambed.kinds.faults.fault import Fault
from streambed.record import now_ns
from streambed.record.events import Heal, HealFailed, Inject, InjectFailed
from streambed.runner.live_world import LiveWorld
from streambed.world import Injury

AHEAD_NS = 100_000_000
"""How long before a fault the holder of its target role is looked up."""


@dataclass(frozen=True, order=True)
class Moment:
    """Something to do at a time after the start of the load."""

    at_ns: int
    heals: bool
    fault: int


def moments(faults: Sequence[Fault]) -> list[Moment]:
    """All injections and healings in order; at the same time, injections come first."""
    injections = [Moment(fault.at.ns, False, number) for number, fault in enumerate(faults)]
    healings = [
        Moment(fault.at.ns + fault.lasts.ns, True, number) for number, fault in enumerate(faults)
    ]
    return sorted(injections + healings)


class Timeline:
    """The faults of a run, and how to heal those that are active."""

    def __init__(self, faults: Sequence[Fault], world: LiveWorld) -> None:
        self._faults = faults
        self._world = world
        self._injuries: dict[int, Injury] = {}
        self._start_ns = 0

    def follow(self, start_ns: int, end_ns: int) -> None:
        """Do everything that is due between the start and the end of the load."""
        self._start_ns = start_ns
        for moment in moments(self._faults):
            due_ns = start_ns + moment.at_ns
            if due_ns > end_ns:
                break
            if not moment.heals:
                self._ask_ahead(self._faults[moment.fault].roles, due_ns)
            self._world.rest_until(due_ns)
            if moment.heals:
                self.heal(moment.fault)
            else:
                self._inject(moment.fault)
        self._world.rest_until(end_ns)

    def _ask_ahead(self, roles: Sequence[str], due_ns: int) -> None:
        """Look up roles ahead of time: the world caches them, so that the fault is not delayed."""
        if roles:
            self._world.rest_until(due_ns - AHEAD_NS)
        for role in roles:
            with contextlib.suppress(WorldError):  # It will be asked again when the fault comes.
                self._world.holder(role)

    def _inject(self, number: int) -> None:
        """Inject a fault and record when it took effect. A failure is recorded too."""
        fault = self._faults[number]
        try:
            injury = self._injuries[number] = fault.inject(self._world)
        except (OSError, StreambedError) as error:
            self._world.record(
                InjectFailed(fault=number, kind=fault.kind, target=fault.aim, reason=str(error))
            )
            return
        late_ns = now_ns() - self._start_ns - fault.at.ns
        self._world.links_changed()
        self._world.record(
            Inject(
                fault=number,
                kind=fault.kind,
                target=injury.target,
                lasts_ns=fault.lasts.ns,
                late_ns=late_ns,
            )
        )

    def heal(self, number: int) -> None:
        """Heal one fault if it is active. A failure is recorded and does not stop the run."""
        injury = self._injuries.pop(number, None)
        if injury is None:
            return
        fault = self._faults[number]
        try:
            injury.heal()
        except (OSError, StreambedError) as error:
            self._world.record(
                HealFailed(fault=number, kind=fault.kind, target=injury.target, reason=str(error))
            )
            return
        late_ns = now_ns() - self._start_ns - fault.at.ns - fault.lasts.ns
        self._world.links_changed()
        self._world.record(
            Heal(fault=number, kind=fault.kind, target=injury.target, late_ns=late_ns)
        )

    def heal_all(self) -> None:
        """Heal all active faults; one that is healed early has a negative lateness."""
        for number in list(self._injuries):
            self.heal(number)


@contextlib.contextmanager
def timeline(faults: Sequence[Fault], world: LiveWorld) -> Iterator[Timeline]:
    """A timeline whose faults are healed after the block, also after an error."""
    faults_of_run = Timeline(faults, world)
    try:
        yield faults_of_run
    finally:
        faults_of_run.heal_all()
