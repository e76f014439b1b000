"""Skew clock: the wall clock of one process is wrong until it heals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from streambed.errors import Problem
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.of_links import Links
from streambed.kinds.faults.targets import OnAProcess, act_on_each, resolve_processes
from streambed.plan import Machine
from streambed.units import Duration, Share
from streambed.world import Heal, Injected, Process, World

FARTHEST = Duration(30 * 365 * 24 * 3600 * 1e9)
"""Programs need not know times before 1970, or far beyond the year 2038."""


@declared
class SkewClock(OnAProcess):
    """Let `target` and its children see another wall clock from `at` on; the true one after
    `lasts`. Their monotonic clocks stay right, and so do their timeouts.
    """

    state: ClassVar[str] = "skewed"
    needs_life: ClassVar[bool] = True

    kind: Literal["skew_clock"] = "skew_clock"
    target: str
    """A component with one process, one process of a component such as kafka/broker2, or a role
    such as leader of lines/0.
    """
    ahead: Duration | None = None
    """How far the clock jumps forward."""
    behind: Duration | None = None
    """How far the clock jumps back."""
    fast: Share | None = None
    """What the clock gains: with 1 % it shows 101 s after 100 s."""
    slow: Share | None = None
    """What the clock loses."""

    @property
    def aim(self) -> str:
        """The target, and how its clock is wrong."""
        return f"{self.target}: {self._words}"

    @property
    def _words(self) -> str:
        values = {"ahead": self.ahead, "behind": self.behind, "fast": self.fast, "slow": self.slow}
        return ", ".join(f"{value} {word}" for word, value in values.items() if value)

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The clock must be wrong in one direction, and within what programs know."""
        problems = super().problems(hosts, links, components)
        if not self._words:
            says = "the clock is right: give `ahead`, `behind`, `fast` or `slow`"
            problems.append(Problem(key="ahead", says=says))
        if self.ahead and self.behind:
            problems.append(Problem(key="behind", says="the clock is ahead already: give one"))
        if self.fast and self.slow:
            problems.append(Problem(key="slow", says="the clock is fast already: give one"))
        for key, value in (("ahead", self.ahead), ("behind", self.behind)):
            if value and value > FARTHEST:
                says = f"{value} is too far for many programs: give 30 years ({FARTHEST}) or less"
                problems.append(Problem(key=key, says=says))
        for key, share in (("fast", self.fast), ("slow", self.slow)):
            if share and share.fraction >= 1:
                says = f"{share} is too much: give less than 100%"
                problems.append(Problem(key=key, says=says))
        return problems

    def lacks(self, machine: Machine) -> str:
        """A process's copy of the vDSO must be writable."""
        return machine.clock_refusal

    def inject(self, world: World) -> Injected:
        """Skew the clocks of the processes that the target means now."""
        processes, label = resolve_processes(self.target, world)
        ahead, behind = self.ahead or Duration(0), self.behind or Duration(0)
        fast, slow = self.fast or Share(0), self.slow or Share(0)

        def skew(process: Process) -> Heal:
            rate = fast.fraction - slow.fraction
            return process.clock.skew(ahead_ns=ahead.ns - behind.ns, rate=rate)

        return Injected(
            target=f"{label}: {self._words}",
            heal=act_on_each(processes, skew),
            processes=tuple(process.name for process in processes),
        )
