"""The timeline injects and heals faults at their times, and heals the rest at the end.

Each injection and healing runs in a thread, so that a slow one does not delay the next. The order
of two at the same time is kept: the second waits a moment for the first.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from streambed.errors import StreambedError, WorldError
from streambed.kinds.faults.fault import Fault
from streambed.kinds.faults.when.triggers import Trigger
from streambed.plan import PlannedInjection
from streambed.record import now_ns
from streambed.record.events import Heal, HealFailed, Inject, InjectFailed
from streambed.runner.live_world import LiveWorld
from streambed.runner.timeline.probes import probe_fault
from streambed.world import Injected

AHEAD_NS = 100_000_000
"""How long before a fault the holder of its target role is looked up."""
IN_ORDER_S = 0.02
"""How long a fault waits for one that is due at the same time and comes first."""
LOOK_S = 0.1
"""How often the run is looked after while it waits for a slow fault."""
HEAL_LIMIT_S = 180.0
"""How long the run waits at most for faults that are still at work when the load is over."""
REPORT_NS = 5_000_000
"""How often agents write their gauges if a fault waits for a count."""


class Act(IntEnum):
    """What is done at a moment; at one time in this order."""

    LOOK_UP = 0
    INJECT = 1
    HEAL = 2


@dataclass(frozen=True, order=True)
class Moment:
    """Something to do at a time after the start of the load."""

    at_ns: int
    act: Act
    injection: int


def moments(injections: Sequence[PlannedInjection]) -> list[Moment]:
    """Everything that has a declared time, in order."""
    found = []
    for number, injection in enumerate(injections):
        if injection.trigger:
            continue
        at_ns = injection.at_ns
        found.append(Moment(max(0, at_ns - AHEAD_NS), Act.LOOK_UP, number))
        found.append(Moment(at_ns, Act.INJECT, number))
        found.append(Moment(at_ns + injection.lasts_ns, Act.HEAL, number))
    return sorted(found)


class Timeline:
    """The faults of a run, and how to heal those that are active."""

    def __init__(
        self, faults: Sequence[Fault], injections: Sequence[PlannedInjection], world: LiveWorld
    ) -> None:
        self._faults = faults
        self._injections = injections
        self._world = world
        self._injected: dict[int, Injected] = {}
        self._healing_ns: dict[int, int] = {}
        """When each active fault is due to be healed."""
        self._threads: dict[int, threading.Thread] = {}
        """The last thread of each injection."""
        self._watchers: list[threading.Thread] = []
        self._ending = threading.Event()
        self._start_ns = 0

    @property
    def report_ns(self) -> int:
        """How often agents must report; 0: as usual."""
        counted = any(trigger.counts for trigger in self._triggers())
        return REPORT_NS if counted else 0

    def sync_points(self, start_ns: int) -> dict[str, tuple[int, ...]]:
        """The producers that must wait at a commit, once from each of these times."""
        points: dict[str, list[int]] = {}
        for injection in self._injections:
            trigger = self._faults[injection.fault].timing.trigger
            if trigger and trigger.sync_point:
                points.setdefault(trigger.sync_point, []).append(start_ns + injection.at_ns)
        return {producer: tuple(sorted(times)) for producer, times in points.items()}

    def _triggers(self) -> Iterator[Trigger]:
        for fault in self._faults:
            if fault.timing.trigger:
                yield fault.timing.trigger

    def follow(self, start_ns: int, end_ns: int) -> None:
        """Do everything that is due between the start and the end of the load."""
        self._start_ns = start_ns
        for number, injection in enumerate(self._injections):
            if injection.trigger:
                self._watch(number)
        for moment in moments(self._injections):
            due_ns = start_ns + moment.at_ns
            if due_ns > end_ns:
                break
            self._world.rest_until(due_ns)
            self._begin(moment)
        self._world.rest_until(end_ns)

    def _begin(self, moment: Moment) -> None:
        """Do it in a thread, after what was begun before for the same fault."""
        number = moment.injection
        due_ns = self._start_ns + moment.at_ns
        acts: dict[Act, Callable[[], None]] = {
            Act.LOOK_UP: lambda: self._look_up(number),
            Act.INJECT: lambda: self._inject(number, due_ns),
            Act.HEAL: lambda: self._heal(number),
        }
        if moment.act is Act.LOOK_UP and not self._fault(number).roles:
            return
        before = self._threads.get(number)

        def act() -> None:
            if before:
                before.join()
            acts[moment.act]()

        thread = self._threads[number] = self._thread(act)
        thread.start()
        thread.join(IN_ORDER_S)

    def _thread(self, act: Callable[[], None]) -> threading.Thread:
        def act_or_tell() -> None:
            try:
                act()
            except Exception as error:  # The run must not continue as if nothing had happened.
                self._world.troubles.append(error)

        return threading.Thread(target=act_or_tell, name="fault", daemon=True)

    def _fault(self, number: int) -> Fault:
        return self._faults[self._injections[number].fault]

    def _look_up(self, number: int) -> None:
        """Look up roles ahead of time: the world caches them, so that the fault is not delayed."""
        for role in self._fault(number).roles:
            with contextlib.suppress(
                WorldError
            ):  # It is looked up again when the fault is injected.
                self._world.holder(role)

    def _watch(self, number: int) -> None:
        thread = self._thread(lambda: self._await_trigger(number))
        self._watchers.append(thread)
        thread.start()

    def _await_trigger(self, number: int) -> None:
        """Inject a fault when its trigger comes, and heal it after a while or with the load."""
        injection, fault = self._injections[number], self._fault(number)
        trigger = fault.timing.trigger
        assert trigger
        self._ending.wait(max(0, self._start_ns + injection.at_ns - now_ns()) / 1e9)
        began_ns = now_ns()
        look = trigger.watch(self._world, self._world.components)
        happened_ns = look()
        while happened_ns is None and not self._ending.wait(trigger.every_s):
            happened_ns = look()
        if happened_ns is None:
            self._record_failure(number, f"'{trigger}' never came")
            return
        self._inject(number, max(happened_ns, began_ns))
        trigger.let_go(self._world)
        self._ending.wait(injection.lasts_ns / 1e9)
        self._heal(number)

    def _inject(self, number: int, due_ns: int) -> None:
        """Inject a fault and record when it took effect. A failure is recorded too."""
        injection, fault = self._injections[number], self._fault(number)
        try:
            injected = fault.inject(self._world)
        except (OSError, StreambedError) as error:
            self._record_failure(number, str(error))
            return
        took_effect_ns = now_ns()
        self._injected[number] = injected
        self._healing_ns[number] = due_ns + injection.lasts_ns
        self._world.links_changed()
        self._world.record(
            Inject(
                fault=injection.fault,
                kind=fault.kind,
                target=injected.target,
                lasts_ns=injection.lasts_ns,
                late_ns=took_effect_ns - due_ns,
                trigger=injection.trigger,
                how=injected.how,
                nodes=injected.nodes,
                processes=injected.processes,
                links=injected.links,
            )
        )
        probe_fault(self._world, injection, fault.kind, injected)

    def _record_failure(self, number: int, reason: str) -> None:
        fault = self._fault(number)
        self._world.record(
            InjectFailed(
                fault=self._injections[number].fault,
                kind=fault.kind,
                target=fault.aim,
                reason=reason,
            )
        )

    def _heal(self, number: int) -> None:
        """Heal one fault if it is active. A failure is recorded and does not stop the run."""
        injected = self._injected.pop(number, None)
        if injected is None:
            return
        index, kind = self._injections[number].fault, self._fault(number).kind
        try:
            injected.heal()
        except (OSError, StreambedError) as error:
            self._world.record(
                HealFailed(fault=index, kind=kind, target=injected.target, reason=str(error))
            )
            return
        late_ns = now_ns() - self._healing_ns[number]
        self._world.links_changed()
        self._world.record(Heal(fault=index, kind=kind, target=injected.target, late_ns=late_ns))

    def heal_all(self) -> None:
        """Heal all active faults; one that is healed early has a negative lateness."""
        self._ending.set()
        for thread in (*self._watchers, *self._threads.values()):
            self._await(thread)
        healers = [self._thread(lambda n=number: self._heal(n)) for number in list(self._injected)]  # type: ignore[misc]
        for healer in healers:
            healer.start()
            healer.join(IN_ORDER_S)
        for healer in healers:
            self._await(healer)

    def _await(self, thread: threading.Thread) -> None:
        """Wait for a thread while looking after the run."""
        end_ns = now_ns() + round(HEAL_LIMIT_S * 1e9)
        while thread.is_alive() and now_ns() < end_ns:
            thread.join(LOOK_S)
            if thread.is_alive():
                self._world.watch()


@contextlib.contextmanager
def timeline(
    faults: Sequence[Fault], injections: Sequence[PlannedInjection], world: LiveWorld
) -> Iterator[Timeline]:
    """A timeline whose faults are healed after the block, also after an error."""
    faults_of_run = Timeline(faults, injections, world)
    try:
        yield faults_of_run
    finally:
        faults_of_run.heal_all()
