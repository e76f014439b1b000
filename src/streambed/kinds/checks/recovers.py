"""Recovers: after each fault, records are as fast as before it within a limit.

inject            heal
  │ effect ─┐       │ restored ─┐        caught up
──●─────────●───────●───────────●──────────●───────────
  └─ baseline before it         └ first output again  └ hold: every second of due time is
                                                        within the bound
"""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from streambed.errors import Problem
from streambed.kinds.checks.components import traced_problems
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.course import load_ended
from streambed.kinds.evidence.journeys import journeys
from streambed.kinds.evidence.readers import intermediate_topics
from streambed.kinds.evidence.recovery import HOLD, Baseline, Recovery, baseline_of, recoveries
from streambed.record.fidelity import fidelity
from streambed.record.history import Answer, History, Verdict
from streambed.units import Duration, clock, shown


@declared
class Recovers(MayFail):
    """After every fault, `of` has caught up `within` a time of its healing.

    Caught up: for `hold` of due time, the p99 of each second is within 1.5 times the p99 before the
    first fault, plus one batch interval for a job. Before that fault there must be 10 s of load.
    Faults that overlap are one: recovery is from all of them.
    """

    kind: Literal["recovers"] = "recovers"
    of: str
    within: Duration
    """The longest time from the end of a fault until it has caught up."""
    hold: Duration = HOLD
    """How long it must stay so."""

    @property
    def about(self) -> str:
        """The reader: verdicts are named recovers:READER."""
        return self.of

    def problems(self, components: Components) -> list[Problem]:
        """Records must be traced to `of`, and `hold` be a second at least."""
        wrong = traced_problems(components, self.of)
        if self.hold.ns < 1_000_000_000:
            wrong.append(Problem(key="hold", says=f"{self.hold} is too short: give 1s or more"))
        return wrong

    def fault_problems(self, kinds: tuple[str, ...]) -> list[Problem]:
        """There must be something to recover from."""
        if kinds:
            return []
        return [Problem(key="of", says="no fault is declared: there is nothing to recover from")]

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """The topics between chained jobs, which may have no consumer."""
        return intermediate_topics(components, self.of)

    def judge(self, history: History) -> Verdict:
        """Measure effect, outage, restored and caught up of each fault."""
        if not load_ended(history) or history.load_ns is None:
            return self._unknown("the run broke before the load ended")
        records = journeys(history, self.of).filter(~pl.col("silent"))
        baseline = baseline_of(history, self.of, records, history.warm_up)
        if isinstance(baseline, str):
            return self._unknown(baseline)
        recovered = recoveries(history, records, baseline, self.hold)
        if not recovered:
            return self._unknown("no fault was injected")
        return self._verdict_of(history, baseline, recovered)

    def _verdict_of(
        self, history: History, baseline: Baseline, recovered: list[Recovery]
    ) -> Verdict:
        evidence = {
            "bound_ns": baseline.bound_ns,
            "baseline_p99_ns": baseline.p99_ns,
            "faults": [recovery.evidence(history) for recovery in recovered],
        }
        too_slow = [
            one
            for one in recovered
            if one.at_least_ns is not None and one.at_least_ns > self.within.ns
        ]
        if too_slow:
            says = "; ".join(self._says_of(history, one) for one in too_slow)
            if self._in_doubt(history):
                return self._verdict("unknown", f"timing was off: {says}", evidence)
            return self._verdict("fails", says, evidence)
        unknown = [one for one in recovered if one.caught_up_ns is None]
        if unknown:
            says = "; ".join(f"{one.faults}: {one.why_unknown}" for one in unknown)
            return self._verdict("unknown", says, evidence)
        says = "; ".join(self._says_of(history, one) for one in recovered)
        return self._verdict("holds", says, evidence)

    def _in_doubt(self, history: History) -> bool:
        """Whether links were not as declared at some time, so that slowness proves nothing."""
        return bool(fidelity(history).spans)

    def _says_of(self, history: History, recovery: Recovery) -> str:
        parts = [
            f"effect {_span_text(recovery.effect_ns)}",
            f"outage {_span_text(recovery.outage_ns)}",
        ]
        parts.append(f"restored {_span_text(recovery.restored_ns)}")
        caught_up = _span_text(recovery.caught_up_ns)
        if recovery.caught_up_ns is None and recovery.at_least_ns is not None:
            caught_up = f"not after {shown(recovery.at_least_ns)}"
        limit = shown(self.within.ns)
        when = clock(history.seconds(recovery.start))
        return (
            f"{recovery.faults} at {when}: {', '.join(parts)}, "
            f"caught up {caught_up} (limit {limit})"
        )

    def _unknown(self, says: str) -> Verdict:
        return self._verdict("unknown", says, {})

    def _verdict(self, answer: Answer, says: str, evidence: dict[str, Any]) -> Verdict:
        words = {"holds": "recovers in time", "fails": "recovers too slowly"}
        return Verdict(
            check=self.kind,
            answer=answer,
            says=says,
            evidence=evidence,
            brief=f"{self.of} {words.get(answer, 'may or may not recover')}",
            punctual=True,
        )


def _span_text(span_ns: int | None) -> str:
    return "none" if span_ns is None else shown(span_ns)
