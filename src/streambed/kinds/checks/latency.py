"""Latency: how long after a record was due a consumer saw it, or what a Spark job made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import polars as pl
from pydantic import model_validator

from streambed.errors import Problem, suggestion
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.course import counted, faults_of, in_doubt, load_ended, names_between
from streambed.kinds.evidence.journeys import journeys
from streambed.kinds.evidence.readers import intermediate_topics
from streambed.record.fidelity import fidelity
from streambed.record.history import Answer, History, Verdict
from streambed.units import Duration, clock, shown

CALM_NS = 1_000_000_000
"""Late records that were due further apart than this belong to different stretches."""
NEVER_NS = 2**62
"""The latency of a record that was surely never seen: longer than any limit."""


@declared
class Latency:
    """The latency through `of`, a consumer, a sink or a job, stays within the limits given: one at
    least.

    It counts from the time at which a record was due, not from when it was sent, until it was first
    seen; through a job, until some consumer first saw an output that covers it. An acked record
    that was surely never seen is slower than any limit. If it depends on records of which nobody
    knows whether they would have been seen, the answer is unknown.
    """

    kind: Literal["latency"] = "latency"
    of: str
    p50: Duration | None = None
    """Half of the records are no slower."""
    p99: Duration | None = None
    """99 of 100 records are no slower."""
    max: Duration | None = None
    """No record is slower."""

    @model_validator(mode="after")
    def _limited(self) -> Latency:
        if not self.limits:
            raise ValueError("give at least one limit: p50, p99 or max")
        return self

    @property
    def limits(self) -> dict[str, Duration]:
        """The limits that were given, by name."""
        given = {"p50": self.p50, "p99": self.p99, "max": self.max}
        return {name: limit for name, limit in given.items() if limit is not None}

    @property
    def about(self) -> str:
        """The component."""
        return self.of

    def problems(self, components: Mapping[str, Any]) -> list[Problem]:
        """It must be of a consumer, a sink, or a job that says what it reads and writes."""
        known = {
            name: component
            for name, component in components.items()
            if component.readers or component.as_engine
        }
        if self.of not in known:
            says = f"no consumer, sink or job is called '{self.of}'. {suggestion(self.of, known)}"
            return [Problem(key="of", says=says, about=frozenset({self.of}))]
        engine = known[self.of].as_engine
        if engine and not (engine.reads and engine.writes):
            return [
                Problem(
                    key="of", says=f"'{self.of}' must declare the topics that it reads and writes"
                )
            ]
        return []

    def witnessed(self, components: Mapping[str, Any]) -> tuple[str, ...]:
        """The topics between chained jobs, which need not have a consumer of their own."""
        return intermediate_topics(components, self.of)

    def judge(self, history: History) -> Verdict:
        """Compare the measured latencies with the limits. An answer that rests on times that are
        not to be believed is unknown.
        """
        if not load_ended(history):
            return Verdict(
                check=self.kind, answer="unknown", says="the run broke before the load ended"
            )
        records = journeys(history, self.of)
        verdict = self._judged(history, records)
        # A promise that was kept although packets were late is kept.
        spans = [span for span in fidelity(history).spans if verdict.fails or not span.only_slower]
        sure = records.filter(~in_doubt(spans, start="due", end="seen"))
        doubtful = counted(records.height - sure.height, "record")
        if verdict.answer == "unknown" or sure.height == records.height:
            return verdict
        evidence = verdict.evidence | {"in_doubtful_time": records.height - sure.height}
        if self._judged(history, sure).answer == verdict.answer:
            return replace(
                verdict,
                says=f"{verdict.says}; the same without {doubtful} of doubtful time",
                evidence=evidence,
            )
        says = (
            f"it rests on {doubtful} of time that is not to be believed; with them: {verdict.says}"
        )
        return replace(verdict, answer="unknown", says=says, evidence=evidence)

    def _judged(self, history: History, records: pl.DataFrame) -> Verdict:
        evidence = _counts(records)
        end_ns = history.events[-1].time
        # Records of which nobody knows may be left out, may have come just now, or may never come.
        open_ones = pl.col("seen").is_null() & ~pl.col("lost") & ~pl.col("silent")
        waited = pl.when(open_ones).then(end_ns - pl.col("due"))
        never = pl.when(open_ones).then(NEVER_NS)
        known = _with_latency(records)
        if known["latency"].drop_nulls().is_empty():
            return self._nothing_seen(records, evidence)
        cases = [
            known,
            *(known.with_columns(latency=pl.coalesce("latency", case)) for case in (waited, never)),
        ]
        broken = [self._broken(case) for case in cases]
        evidence |= self._measured(known)
        if not broken[0] and any(broken):
            return self._undecided(evidence)
        if broken[0] and not all(broken):
            return self._undecided(evidence)
        if not broken[0]:
            return self._verdict("holds", self._says_of_all(known), evidence)
        return self._failed(history, known, broken[0], evidence)

    def _broken(self, records: pl.DataFrame) -> list[str]:
        """The limits that these latencies do not keep."""
        measured = quantiles(records["latency"].drop_nulls())
        return [name for name, limit in self.limits.items() if measured[name] > limit.ns]

    def _measured(self, records: pl.DataFrame) -> dict[str, Any]:
        latencies = records["latency"].drop_nulls()
        values = {
            f"{name}_ns": None if value >= NEVER_NS else value
            for name, value in quantiles(latencies).items()
        }
        return {"records": records["seen"].count(), **values}

    def _nothing_seen(self, records: pl.DataFrame, evidence: dict[str, Any]) -> Verdict:
        unseen = f"nobody saw what became of {counted(records.height, 'record')}"
        says = (
            f"{self.of}: {unseen if records.height else 'no record with a due time came its way'}"
        )
        return Verdict(check=self.kind, answer="unknown", says=says, evidence=evidence)

    def _undecided(self, evidence: dict[str, Any]) -> Verdict:
        count = counted(evidence["undecided"], "record")
        says = f"{self.of}: it depends on {count} of which nobody knows whether they would have been seen"
        return Verdict(check=self.kind, answer="unknown", says=says, evidence=evidence)

    def _failed(
        self, history: History, records: pl.DataFrame, broken: list[str], evidence: dict[str, Any]
    ) -> Verdict:
        start, end = worst_stretch(records, over_ns=self.limits[broken[0]].ns)
        during = names_between(faults_of(history), start=start, end=end)
        start_s, end_s = history.seconds(start), history.seconds(end)
        evidence["worst"] = {"start_s": start_s, "end_s": end_s, "during": during}
        measured = quantiles(records["latency"].drop_nulls())
        limits = ", ".join(
            f"{name} {_shown(measured[name])}, limit {shown(self.limits[name].ns)}"
            for name in broken
        )
        worst = f"worst {clock(start_s)}–{clock(end_s)}" + (f", during {during}" if during else "")
        return self._verdict("fails", f"{self.of} {limits}; {worst}", evidence)

    def _says_of_all(self, records: pl.DataFrame) -> str:
        latencies = records["latency"].drop_nulls()
        measured = ", ".join(
            f"{name} {_shown(value)}" for name, value in quantiles(latencies).items()
        )
        limits = ", ".join(f"{name} {shown(limit.ns)}" for name, limit in self.limits.items())
        return f"{self.of} {measured} over {counted(len(latencies), 'record')}; limit {limits}"

    def _verdict(self, answer: Answer, says: str, evidence: dict[str, Any]) -> Verdict:
        never = evidence["never_seen"]
        says += (
            f"; {never} sent {'record was' if never == 1 else 'records were'} never seen"
            if never
            else ""
        )
        return Verdict(check=self.kind, answer=answer, says=says, evidence=evidence)


def _with_latency(records: pl.DataFrame) -> pl.DataFrame:
    """What is known of each record's latency: as measured, longer than any limit if it is lost,
    null if nobody knows.
    """
    lost = pl.when("lost").then(NEVER_NS)
    return records.with_columns(latency=pl.coalesce(pl.col("seen") - pl.col("due"), lost))


def _counts(records: pl.DataFrame) -> dict[str, Any]:
    """How many records were never seen, how many of them surely, and how many a job took without an
    output that was seen.
    """
    unseen = records.filter(pl.col("seen").is_null())
    silent = int(unseen["silent"].sum())
    lost = int(unseen["lost"].sum())
    never = unseen.height - silent
    return {"never_seen": never, "lost": lost, "undecided": never - lost, "without_output": silent}


def _shown(latency_ns: int) -> str:
    return "never" if latency_ns >= NEVER_NS else shown(latency_ns)


def quantiles(latencies: pl.Series) -> dict[str, int]:
    """The median, the 99th percentile and the maximum; between two values the higher one, which
    never flatters.
    """
    wanted = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {
        name: int(latencies.quantile(share, interpolation="higher") or 0)
        for name, share in wanted.items()
    }


def worst_stretch(records: pl.DataFrame, *, over_ns: int) -> tuple[int, int]:
    """The time in which the slowest record and its late neighbours were on their way: first due,
    last seen.
    """
    late = records.filter(pl.col("latency") > over_ns).sort("due")
    stretches = late.with_columns(stretch=(pl.col("due").diff().fill_null(0) > CALM_NS).cum_sum())
    slowest = stretches.sort("latency")["stretch"][-1]
    worst = stretches.filter(pl.col("stretch") == slowest)
    start, end = worst.select(pl.col("due").min(), pl.max_horizontal("seen", "due").max()).row(0)
    return start, end
