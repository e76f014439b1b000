"""Happens: something occurred while something else did; without it a run shows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from streambed.errors import Problem
from streambed.kinds.checks.components import jobs_among
from streambed.kinds.checks.phases import phase_problems
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.occurrences import SITUATIONS, times_of, within
from streambed.record.history import History, Verdict
from streambed.units import clock, count_of

What = Literal[
    "leader change",
    "controller change",
    "in-sync change",
    "restart",
    "rebalance",
    "offset reset",
    "batch",
    "abort",
    "fault",
    "reroute",
]
BROKER_EVENTS = ("leader change", "controller change", "in-sync change")
TRANSACTIONS = ("abort", "transaction")
SHOWN = 3


@declared
class Happens:
    """`what` occurred at least `times` times during `during`. If not, the answer is unknown.

    It never fails: a run in which nothing happened is not wrong, it only shows nothing.
    """

    kind: Literal["happens"] = "happens"
    what: What
    """What must occur."""
    during: str = "load"
    """While what: load, drain, in flight (a record was sent and not yet acknowledged), batch (a job
    worked on one), transaction (one was open), rebalance (a partition had no reader), faults, or a
    kind of fault.
    """
    of: str = ""
    """Only of this component or topic; default: any."""
    times: Annotated[int, Field(ge=1)] = 1
    """How often at least."""

    @property
    def about(self) -> str:
        """What must occur and when: happens:leader change:load."""
        return f"{self.what}:{self.during}"

    def problems(self, components: Components) -> list[Problem]:
        """The run must record what must occur."""
        wrong = []
        if self.what in BROKER_EVENTS and not _any(components, "as_broker"):
            wrong.append(Problem(key="what", says=f"a {self.what} needs a broker: declare one"))
        if self.what == "rebalance" and not _any(components, "readers"):
            wrong.append(Problem(key="what", says="a rebalance needs a consumer: declare one"))
        for key, word in (("what", self.what), ("during", self.during)):
            if word == "batch" and not jobs_among(components):
                wrong.append(Problem(key=key, says="a batch needs a job: declare one"))
            if word in TRANSACTIONS and not _any(components, "transaction"):
                says = f"'{word}' needs a producer with `transaction`: declare one"
                wrong.append(Problem(key=key, says=says))
        return wrong

    def fault_problems(self, kinds: Sequence[str]) -> list[Problem]:
        """`during` must be a situation, or a fault that is declared."""
        if self.what == "fault" and not kinds:
            return [Problem(key="what", says="no fault is declared: add one")]
        if self.during in SITUATIONS:
            return []
        return phase_problems(self.during, kinds)

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """It needs no topic read back."""
        return ()

    def judge(self, history: History) -> Verdict:
        """Count what occurred in time."""
        every = times_of(history, self.what, self.of)
        inside = within(history, self.during, every)
        evidence = {"occurred": len(every), "in_time": len(inside)}
        subject = f"{self.what} of {self.of}" if self.of else self.what
        counted = f"{subject}: {count_of(len(inside), 'time')} during {self.during}"
        if len(inside) >= self.times:
            at = ", ".join(clock(history.seconds(time)) for time in inside[:SHOWN])
            more = f" and {len(inside) - SHOWN} more" if len(inside) > SHOWN else ""
            return self._verdict("holds", f"{counted}, at {at}{more}", evidence)
        outside = len(every) - len(inside)
        beside = f"; {count_of(outside, 'time')} at other times" if outside else ""
        return self._verdict("unknown", f"{counted}, wanted {self.times}{beside}", evidence)

    def _verdict(
        self, answer: Literal["holds", "unknown"], says: str, evidence: dict[str, Any]
    ) -> Verdict:
        brief = f"{self.what} during {self.during} {'seen' if answer == 'holds' else 'not seen'}"
        return Verdict(check=self.kind, answer=answer, says=says, evidence=evidence, brief=brief)


def _any(components: Components, attribute: str) -> bool:
    return any(getattr(component, attribute, None) for component in components.values())
