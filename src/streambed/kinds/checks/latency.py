"""Latency: from when a record was due until a consumer saw it, or a job's output of it."""

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
"""Late records that were due further apart belong to different stretches."""
NEVER_NS = 2**62
"""The latency of a lost record: longer than any limit."""


@declared
class Latency:
    """The latency of records through `of`, a consumer, a sink or a job, stays within the limits.

    It is measured from the time a record was due, not from when it was sent, until it was first
    seen; for a job, until a consumer first saw an output that covers it. A lost record is slower
    than any limit. If the answer depends on records that may yet have been seen, it is unknown.
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
    def _has_a_limit(self) -> Latency:
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
        """The component: verdicts are named latency:COMPONENT."""
        return self.of

    def problems(self, components: Mapping[str, Any]) -> list[Problem]:
        """`of` must be a consumer, a sink, or a job that declares what it reads and writes."""
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
            says = f"'{self.of}' must declare the topics that it reads and writes"
            return [Problem(key="of", says=says)]
        return []

    def witnessed(self, components: Mapping[str, Any]) -> tuple[str, ...]:
        """The topics between chained jobs, which may have no consumer."""
        return intermediate_topics(components, self.of)

    def judge(self, history: History) -> Verdict:
        """Compare the measured latencies with the limits.

        An answer that depends on doubtful spans of time (see record/fidelity.py) is unknown.
        """
        if not load_ended(history):
            return self._unknown("the run broke before the load ended", {})
        records = journeys(history, self.of)
        verdict = self._judge_records(history, records)
        # Late packets make a failure doubtful, but not a limit that was kept in spite of them.
        spans = [span for span in fidelity(history).spans if verdict.fails or not span.only_slower]
        sure = records.filter(~in_doubt(spans, start="due", end="seen"))
        doubtful = records.height - sure.height
        if verdict.answer == "unknown" or not doubtful:
            return verdict
        evidence = verdict.evidence | {"in_doubtful_time": doubtful}
        count = counted(doubtful, "record")
        if self._judge_records(history, sure).answer == verdict.answer:
            says = f"{verdict.says}; the same without {count} of doubtful time"
            return replace(verdict, says=says, evidence=evidence)
        says = f"it rests on {count} of time that is not to be believed; with them: {verdict.says}"
        return replace(verdict, answer="unknown", says=says, evidence=evidence)

    def _judge_records(self, history: History, records: pl.DataFrame) -> Verdict:
        evidence = _counts(records)
        known = _with_latency(records)
        if known["latency"].drop_nulls().is_empty():
            return self._nothing_seen(records, evidence)
        evidence |= self._measured(known)
        exceeded = self._exceeded(known)
        # An undecided record may arrive at the moment the run ends, or never.
        undecided = pl.col("seen").is_null() & ~pl.col("lost") & ~pl.col("silent")
        end_ns = history.events[-1].time
        for latency in (end_ns - pl.col("due"), pl.lit(NEVER_NS)):
            assumed = pl.coalesce("latency", pl.when(undecided).then(latency))
            in_this_case = self._exceeded(known.with_columns(latency=assumed))
            if bool(in_this_case) != bool(exceeded):
                return self._undecided(evidence)
        if not exceeded:
            return self._verdict("holds", self._says_of_all(known), evidence)
        return self._failed(history, known, exceeded, evidence)

    def _exceeded(self, records: pl.DataFrame) -> list[str]:
        """The names of the limits that these latencies exceed."""
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
        if records.height:
            why = f"nobody saw what became of {counted(records.height, 'record')}"
        else:
            why = "no record with a due time came its way"
        return self._unknown(f"{self.of}: {why}", evidence)

    def _undecided(self, evidence: dict[str, Any]) -> Verdict:
        count = counted(evidence["undecided"], "record")
        why = f"it depends on {count} of which nobody knows whether they would have been seen"
        return self._unknown(f"{self.of}: {why}", evidence)

    def _unknown(self, says: str, evidence: dict[str, Any]) -> Verdict:
        return Verdict(check=self.kind, answer="unknown", says=says, evidence=evidence)

    def _failed(
        self, history: History, records: pl.DataFrame, exceeded: list[str], evidence: dict[str, Any]
    ) -> Verdict:
        start, end = worst_stretch(records, over_ns=self.limits[exceeded[0]].ns)
        during = names_between(faults_of(history), start=start, end=end)
        start_s, end_s = history.seconds(start), history.seconds(end)
        evidence["worst"] = {"start_s": start_s, "end_s": end_s, "during": during}
        measured = quantiles(records["latency"].drop_nulls())
        limits = ", ".join(
            f"{name} {_shown(measured[name])}, limit {shown(self.limits[name].ns)}"
            for name in exceeded
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
        if never:
            says += f"; {never} sent {'record was' if never == 1 else 'records were'} never seen"
        return Verdict(check=self.kind, answer=answer, says=says, evidence=evidence)


def _with_latency(records: pl.DataFrame) -> pl.DataFrame:
    """Add each record's latency: as measured, NEVER_NS if it is lost, null if it is unknown."""
    lost = pl.when("lost").then(NEVER_NS)
    return records.with_columns(latency=pl.coalesce(pl.col("seen") - pl.col("due"), lost))


def _counts(records: pl.DataFrame) -> dict[str, Any]:
    """How many records were never seen, and why: lost, undecided, or taken without an output."""
    unseen = records.filter(pl.col("seen").is_null())
    silent = int(unseen["silent"].sum())
    lost = int(unseen["lost"].sum())
    never = unseen.height - silent
    return {"never_seen": never, "lost": lost, "undecided": never - lost, "without_output": silent}


def _shown(latency_ns: int) -> str:
    return "never" if latency_ns >= NEVER_NS else shown(latency_ns)


def quantiles(latencies: pl.Series) -> dict[str, int]:
    """The median, the 99th percentile and the maximum. Between two values the higher one counts."""
    wanted = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {
        name: int(latencies.quantile(share, interpolation="higher") or 0)
        for name, share in wanted.items()
    }


def worst_stretch(records: pl.DataFrame, *, over_ns: int) -> tuple[int, int]:
    """The span of the slowest record and its late neighbours, from first due to last seen."""
    late = records.filter(pl.col("latency") > over_ns).sort("due")
    stretches = late.with_columns(stretch=(pl.col("due").diff().fill_null(0) > CALM_NS).cum_sum())
    slowest = stretches.sort("latency")["stretch"][-1]
    worst = stretches.filter(pl.col("stretch") == slowest)
    start, end = worst.select(pl.col("due").min(), pl.max_horizontal("seen", "due").max()).row(0)
    return start, end
