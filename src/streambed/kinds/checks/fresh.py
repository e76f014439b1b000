"""Fresh: what a reader has seen is never older than a limit, for most of the time."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl

from streambed.errors import Problem
from streambed.judge.columns import RunIndex, frame_of_topic
from streambed.kinds.checks.components import traced_problems
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.course import faults_of, load_ended, names_between
from streambed.kinds.evidence.journeys import journeys
from streambed.kinds.evidence.outputs.input_log import Numbers, places_of
from streambed.kinds.evidence.readers import intermediate_topics
from streambed.record.history import Answer, History, Verdict
from streambed.units import Duration, Share, clock, count_of, shown

STEP_NS = 100_000_000
"""How often staleness is sampled."""
NEVER_NS = 2**62


@declared
class Fresh(MayFail):
    """The staleness of the consumer, sink or job `of` stays `within` a limit.

    At each moment of the load it is the age of the oldest acknowledged record that was not yet
    seen, by when that was due; zero if there is none. For a job, of a record whose output was not
    yet seen. Shares are of time, not of records.
    """

    kind: Literal["fresh"] = "fresh"
    of: str
    within: Duration
    """The limit."""
    share: Share = Share(0.99)
    """For how much of the time it must be kept."""

    @property
    def about(self) -> str:
        """The reader: verdicts are named fresh:READER."""
        return self.of

    def problems(self, components: Components) -> list[Problem]:
        """Records must be traced to `of`."""
        return traced_problems(components, self.of)

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """The topics between chained jobs, which may have no consumer."""
        return intermediate_topics(components, self.of)

    def judge(self, history: History) -> Verdict:
        """Sample the staleness over the load."""
        if not load_ended(history) or history.load_ns is None:
            return self._verdict("unknown", "the run broke before the load ended", {})
        records = journeys(history, self.of).filter(~pl.col("silent"))
        if records["seen"].count() == 0:
            return self._verdict("unknown", f"{self.of} saw no record with a due time", {})
        decided = pl.col("seen").is_not_null() | pl.col("lost") | pl.col("latest").is_not_null()
        records = records.with_columns(known=_known_since(history, records), decided=decided)
        worst = best = _staleness(history, records)
        undecided = records.filter(~pl.col("decided")).height
        if undecided:
            best = _staleness(history, records.filter("decided"))
        return self._judge_staleness(history, worst, best, undecided)

    def _judge_staleness(
        self, history: History, worst: Numbers, best: Numbers, undecided: int
    ) -> Verdict:
        least = float((worst <= self.within.ns).mean())
        most = float((best <= self.within.ns).mean())
        at = int(np.argmax(worst))
        when = (history.load_ns or 0) + at * STEP_NS
        during = names_between(faults_of(history), start=when, end=when)
        evidence: dict[str, Any] = {
            "share": least,
            "p50_ns": int(np.quantile(worst, 0.5)),
            "p99_ns": int(np.quantile(worst, 0.99)),
            "max_ns": int(worst.max()),
            "worst_at_s": history.seconds(when),
            "during": during,
            "undecided": undecided,
        }
        says = self._says(evidence)
        if most < self.share.fraction:
            return self._verdict("fails", says, evidence)
        if least < self.share.fraction:
            count = count_of(undecided, "record")
            says = f"it depends on {count} that may not have been seen; {says}"
            return self._verdict("unknown", says, evidence)
        return self._verdict("holds", says, evidence)

    def _says(self, evidence: dict[str, Any]) -> str:
        kept = f"{self.of} within {shown(self.within.ns)} for {100 * evidence['share']:.4g} %"
        oldest = f"oldest {shown(evidence['max_ns'])} at {clock(evidence['worst_at_s'])}"
        if evidence["during"]:
            oldest += f", during {evidence['during']}"
        return f"{kept} of the time, wanted {self.share}; {oldest}"

    def _verdict(self, answer: Answer, says: str, evidence: dict[str, Any]) -> Verdict:
        words = {"holds": "fresh", "fails": "stale", "unknown": "of unknown freshness"}
        return Verdict(
            check=self.kind,
            answer=answer,
            says=says,
            evidence=evidence,
            brief=f"{self.of} {words[answer]}",
            punctual=True,
        )


def _staleness(history: History, records: pl.DataFrame) -> Numbers:
    """How old the oldest unseen record was, at each step from the start of the load to the last
    record due.
    """
    seen_by = pl.coalesce("seen", "latest").fill_null(NEVER_NS)
    rows = records.select("due", "known", seen=seen_by).sort("due")
    due, known, seen = (rows[column].to_numpy() for column in ("due", "known", "seen"))
    all_seen = np.maximum.accumulate(seen)
    steps = np.arange(history.load_ns or 0, int(due[-1]) + 1, STEP_NS, dtype=np.int64)
    oldest = np.searchsorted(all_seen, steps, side="right")
    newest = np.searchsorted(due, steps, side="right")
    staleness = np.zeros(len(steps), dtype=np.int64)
    for row, time in enumerate(steps):
        waiting = slice(oldest[row], newest[row])
        unseen = (known[waiting] <= time) & (seen[waiting] > time)
        first = int(np.argmax(unseen)) if len(unseen) else 0
        if len(unseen) and unseen[first]:
            staleness[row] = time - due[waiting][first]
    return staleness


def _known_since(history: History, records: pl.DataFrame) -> pl.Series:
    """When each record was acknowledged: no reader can see it before. Its due time if that is not
    known.
    """
    known = records["due"].to_numpy().copy()
    for topic in records["topic"].unique().drop_nulls():
        columns = ("partition", "offset", "acked")
        sent = frame_of_topic(history.ledger, "sent", topic, columns)
        index, acked = _acks_by_place(sent)
        of_topic = np.flatnonzero((records["topic"] == topic).to_numpy())
        mine = records[of_topic] if len(of_topic) < records.height else records
        rows = index.rows(places_of(mine["partition"], mine["offset"]))
        is_acked = rows >= 0
        known[of_topic[is_acked]] = acked[rows[is_acked]]
    return pl.Series(known)


def _acks_by_place(sent: pl.DataFrame) -> tuple[RunIndex, Numbers]:
    """The places of the acknowledged records, and when each was acknowledged."""
    with_ack = sent.filter(pl.col("acked").is_not_null() & (pl.col("offset") >= 0))
    places = places_of(with_ack["partition"], with_ack["offset"])
    index = RunIndex(np.sort(places))
    acked = np.zeros(len(places), np.int64)
    acked[index.rows(places)] = with_ack["acked"].to_numpy()
    return index, acked
