"""Late as declared: a job drops late records only, by the watermark that its delay allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from streambed.errors import Problem, QueryError
from streambed.kinds.checks.components import job_problems, topics_read
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.by_batches import batches_of, unreported_ranges
from streambed.kinds.evidence.course import load_ended
from streambed.kinds.evidence.outputs.lateness import NO_TIME, event_time_problem, timed_log
from streambed.kinds.evidence.readers import witness_of
from streambed.record.events import Batch
from streambed.record.history import Answer, History, Verdict
from streambed.units import Duration, count_of, shown

TICK_NS = 1_000_000
"""Spark's watermarks are whole milliseconds."""


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What one batch did: by how much its watermark is too far, how much it dropped, and may."""

    batch: Batch
    ahead_ns: int
    dropped: int
    may: int


@declared
class LateAsDeclared(MayFail):
    """The watermark of the job `of` is never ahead of the latest event time of earlier batches less
    `delay`, and no batch drops more rows than it had late records.

    Spark counts dropped rows after a first aggregation, so their number may be smaller.
    """

    kind: Literal["late_as_declared"] = "late_as_declared"
    of: str
    """The job."""
    event_time: str
    """The event time as SQL of DuckDB over the columns of the topic: timestamp, key and value."""
    delay: Duration
    """The delay that the job gives to withWatermark."""
    window: Duration = Duration(0)
    """The size of its tumbling windows. Without windows a record is late by its event time."""

    @property
    def about(self) -> str:
        """The job: verdicts are named late_as_declared:JOB."""
        return self.of

    def problems(self, components: Components) -> list[Problem]:
        """`of` must be a job on one topic, and the expression be right."""
        if wrong := job_problems(components, self.of):
            return wrong
        topics = topics_read(components, self.of)
        if len(topics) > 1:
            says = f"'{self.of}' reads {len(topics)} topics: only jobs on one topic can be judged"
            return [Problem(key="of", says=says)]
        says = event_time_problem(self.event_time, topics)
        return [Problem(key="event_time", says=says)] if says else []

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """The topic that the job reads."""
        return topics_read(components, self.of)

    def topics_kept(self, components: Components) -> tuple[str, ...]:
        """The topic that the job reads."""
        return self.witnessed(components)

    def judge(self, history: History) -> Verdict:
        """Compare the watermark and the dropped rows of each batch with its records."""
        if not load_ended(history):
            return self._verdict("unknown", "the run broke before the load ended")
        engine = history.components[self.of].as_engine
        topics = engine.reads if engine else ()
        if len(topics) != 1 or not witness_of(history, topics[0]):
            return self._verdict("unknown", f"{', '.join(topics)} was not read back")
        batches = [batch for batch in batches_of(history, self.of) if batch.batch is not None]
        if not batches:
            return self._verdict("unknown", f"{self.of} reported no batches")
        if all(batch.late_rows is None for batch in batches):
            says = f"{self.of} keeps no state, so it reports neither watermark nor dropped rows"
            return self._verdict("unknown", says)
        try:
            return self._verdict_of(history, self._batches(history, topics[0], batches))
        except QueryError as error:
            return self._verdict("unknown", f"the event time is not known: {error}")

    def _batches(self, history: History, topic: str, batches: list[Batch]) -> list[_Found]:
        log = timed_log(history, topic, self.event_time, self.window.ns)
        if not len(log.places):
            raise QueryError("keys and values were not kept")
        latest, found, query = NO_TIME, [], ""
        for batch in sorted(batches, key=lambda batch: (batch.query, batch.batch or 0)):
            if batch.query != query:
                latest, query = NO_TIME, batch.query  # Each query has its own watermark.
            rows = log.rows(batch, topic)
            ahead_ns = may = 0
            if batch.watermark_ns is not None:
                allowed_ns = max(0, latest - self.delay.ns) if latest != NO_TIME else 0
                ahead_ns = max(0, batch.watermark_ns - allowed_ns - TICK_NS)
                may = int((log.ends[rows] <= batch.watermark_ns).sum())
            dropped = batch.late_rows or 0
            found.append(_Found(batch=batch, ahead_ns=ahead_ns, dropped=dropped, may=may))
            latest = max(latest, int(np.max(log.event_times[rows], initial=NO_TIME)))
        return found

    def _verdict_of(self, history: History, found: list[_Found]) -> Verdict:
        ahead = [one for one in found if one.ahead_ns]
        dropping = [one for one in found if one.dropped > one.may]
        dropped, may = sum(one.dropped for one in found), sum(one.may for one in found)
        unreported = unreported_ranges(history, self.of).height
        evidence: dict[str, Any] = {
            "batches": len(found),
            "dropped_rows": dropped,
            "late_records": may,
            "ahead": len(ahead),
            "dropping_more": len(dropping),
        }
        # The maximum of an unreported batch is in the log, but not in any range.
        if unreported:
            says = f"Spark did not report all batches of {self.of}"
            return self._verdict("unknown", says, evidence)
        wrong = self._wrong_batches(ahead, dropping)
        if wrong:
            return self._verdict("fails", "; ".join(wrong), evidence)
        late = count_of(may, "late record")
        says = f"{count_of(dropped, 'row')} dropped, of {late} in {len(found)} batches"
        return self._verdict("holds", says, evidence)

    def _wrong_batches(self, ahead: list[_Found], dropping: list[_Found]) -> list[str]:
        """A phrase for the worst batch with an early watermark, and one for dropped rows."""
        phrases = []
        if ahead:
            worst = max(ahead, key=lambda one: one.ahead_ns)
            phrases.append(
                f"the watermark of batch {worst.batch.batch} is {shown(worst.ahead_ns)} ahead of "
                f"what a delay of {self.delay} allows"
            )
        if dropping:
            one = dropping[0]
            count = count_of(one.dropped, "row")
            late = f"but had {one.may} late records"
            phrases.append(f"batch {one.batch.batch} dropped {count}, {late}")
        return phrases

    def _verdict(
        self, answer: Answer, says: str, evidence: dict[str, Any] | None = None
    ) -> Verdict:
        words = {"holds": "drops what is late", "fails": "drops more than what is late"}
        brief = f"{self.of} {words.get(answer, 'may drop more than what is late')}"
        return Verdict(
            check=self.kind, answer=answer, says=says, evidence=evidence or {}, brief=brief
        )
