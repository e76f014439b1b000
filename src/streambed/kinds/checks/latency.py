"""Latency: from when a record was due until a consumer saw it, or a job's output of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import polars as pl
from pydantic import model_validator

from streambed.errors import Problem, suggestion
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.checks.phases import (
    due_after_warm_up,
    due_in_phase,
    phase_problems,
    phase_text,
)
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.course import faults_of, in_doubt, load_ended, names_between
from streambed.kinds.evidence.journeys import journeys
from streambed.kinds.evidence.readers import intermediate_topics
from streambed.record.fidelity import fidelity
from streambed.record.history import Answer, History, Verdict
from streambed.units import Duration, clock, count_of, shown

CALM_NS = 1_000_000_000
"""Late records that were due further apart belong to different stretches."""
NEVER_NS = 2**62
"""The latency of a lost record: longer than any limit."""
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}
"""The share of records that are no slower, by the name of the limit."""
ALWAYS_SHOWN = ("p50", "p99", "max")


@declared
class Latency(MayFail):
    """The latency of records through `of`, a consumer, a sink or a job, stays within the limits.

    It is measured from the time a record was due, not from when it was sent, until it was first
    seen; for a job, until a consumer first saw an output that covers it. A lost record is slower
    than any limit. If the answer depends on records that may yet have been seen, or on when an
    unreported batch was seen, it is unknown.
    """

    kind: Literal["latency"] = "latency"
    of: str
    p50: Duration | None = None
    """Half of the records are no slower."""
    p90: Duration | None = None
    """90 of 100 records are no slower."""
    p95: Duration | None = None
    """95 of 100 records are no slower."""
    p99: Duration | None = None
    """99 of 100 records are no slower."""
    p999: Duration | None = None
    """999 of 1000 records are no slower."""
    max: Duration | None = None
    """No record is slower."""
    during: str = ""
    """Count only the records that were due then: before (the first fault), faults, after (the last
    fault), calm (no fault active), or a kind of fault such as kill.
    """
    warm_up: Duration | None = None
    """Records due in this first part of the load do not count; default: as the experiment says."""

    @model_validator(mode="after")
    def _has_a_limit(self) -> Latency:
        if not self.limits:
            raise ValueError(f"give at least one limit: {', '.join(SHARES)}")
        return self

    @property
    def limits(self) -> dict[str, Duration]:
        """The limits that were given, by name."""
        limits = {name: getattr(self, name) for name in SHARES}
        return {name: limit for name, limit in limits.items() if limit is not None}

    @property
    def about(self) -> str:
        """The component, and the phase if there is one: latency:reader, latency:reader:kill."""
        return f"{self.of}:{self.during}" if self.during else self.of

    def problems(self, components: Components) -> list[Problem]:
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
            missing = "reads" if engine.writes else "writes"
            says = f"latency needs a topic in `{missing}`, and '{self.of}' has none: declare it"
            return [Problem(key="of", says=says)]
        return []

    def fault_problems(self, kinds: Sequence[str]) -> list[Problem]:
        """`during` must name a phase that this experiment has."""
        return phase_problems(self.during, kinds)

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """The topics between chained jobs, which may have no consumer."""
        return intermediate_topics(components, self.of)

    def judge(self, history: History) -> Verdict:
        """Compare the measured latencies with the limits.

        An answer that depends on doubtful spans of time (see record/fidelity.py) is unknown.
        """
        if not load_ended(history):
            return self._unknown("the run broke before the load ended", {})
        journeys_made = journeys(history, self.of)
        records = journeys_made.filter(self._counts(history))
        verdict = self._judge_records(history, records)
        left_out = self._left_out(history, journeys_made.height - records.height)
        verdict = replace(verdict, evidence=left_out | verdict.evidence)
        return self._without_doubtful_time(history, records, verdict)

    def _without_doubtful_time(
        self, history: History, records: pl.DataFrame, verdict: Verdict
    ) -> Verdict:
        """The verdict; unknown if it would be another without the records of doubtful spans."""
        # Late packets make a failure doubtful, but not a limit that was kept in spite of them.
        spans = [span for span in fidelity(history).spans if verdict.fails or not span.only_slower]
        ended = records.with_columns(ended=pl.coalesce("seen", "latest"))
        sure = ended.filter(~in_doubt(spans, start="due", end="ended"))
        doubtful = records.height - sure.height
        if verdict.answer == "unknown" or not doubtful:
            return verdict
        evidence = verdict.evidence | {"in_doubtful_time": doubtful}
        sent = f"the {count_of(doubtful, 'record')} sent while timing was off"
        if self._judge_records(history, sure).answer == verdict.answer:
            says = f"{verdict.says}; still {verdict.answer} without {sent}"
            return replace(verdict, says=says, evidence=evidence)
        says = f"the answer depends on {sent}; with them: {verdict.says}"
        return replace(verdict, answer="unknown", says=says, evidence=evidence)

    def _counts(self, history: History) -> pl.Expr:
        """Whether a record counts: it was due after the warm-up, in the phase if one is named."""
        after_warm_up = due_after_warm_up(history, self._warm_up_in(history))
        return after_warm_up & due_in_phase(history, self.during)

    def _warm_up_in(self, history: History) -> Duration:
        return history.warm_up if self.warm_up is None else self.warm_up

    def _left_out(self, history: History, records: int) -> dict[str, Any]:
        """Which records did not count, for the evidence; empty if all did."""
        warm_up = self._warm_up_in(history)
        if not self.during and not warm_up.ns:
            return {}
        return {"during": self.during, "warm_up_s": warm_up.s, "not_counted": records}

    def _judge_records(self, history: History, records: pl.DataFrame) -> Verdict:
        evidence = _counts(records)
        known = _with_latency(records)
        if known["latency"].drop_nulls().is_empty():
            return self._nothing_seen(records, evidence)
        evidence |= self._measure(known)
        exceeded = self._exceeded_limits(known)
        if evidence["undecided"] or evidence["at_unknown_time"]:
            for case in _possible(known, history.events[-1].time):
                if bool(self._exceeded_limits(case)) != bool(exceeded):
                    return self._undecided_verdict(evidence)
        if not exceeded:
            brief = f"latency of {self.of} within its limits"
            return self._verdict("holds", self._says_of_all(known), evidence, brief)
        return self._failure(history, known, exceeded, evidence)

    def _exceeded_limits(self, records: pl.DataFrame) -> list[str]:
        """The names of the limits that these latencies exceed."""
        measured = quantiles(records["latency"].drop_nulls())
        return [name for name, limit in self.limits.items() if measured[name] > limit.ns]

    def _measure(self, records: pl.DataFrame) -> dict[str, Any]:
        latencies = records["latency"].drop_nulls()
        values = {
            f"{name}_ns": None if value >= NEVER_NS else value
            for name, value in quantiles(latencies).items()
        }
        limits = {name: limit.ns for name, limit in self.limits.items()}
        arrived = records["seen"].count() + records["latest"].count()
        return {"records": arrived, **values, "limits_ns": limits}

    def _nothing_seen(self, records: pl.DataFrame, evidence: dict[str, Any]) -> Verdict:
        if records.height:
            why = f"the fate of {count_of(records.height, 'record')} is unknown"
        elif self.during:
            why = "no record was due then"
        elif self.warm_up:
            why = f"no record was due after the warm-up of {self.warm_up}"
        else:
            why = "it got no record with a due time"
        return self._unknown(f"{self._subject}: {why}", evidence)

    @property
    def _subject(self) -> str:
        """What is judged, for people: reader, or reader during kill."""
        return f"{self.of} {phase_text(self.during)}" if self.during else self.of

    def _undecided_verdict(self, evidence: dict[str, Any]) -> Verdict:
        reasons = []
        if evidence["undecided"]:
            count = count_of(evidence["undecided"], "record")
            reasons.append(f"{count} that might still have been seen")
        if evidence["at_unknown_time"]:
            count = count_of(evidence["at_unknown_time"], "record")
            reasons.append(f"the arrival time of {count} whose batch is not known exactly")
        why = f"it depends on {' and on '.join(reasons)}"
        return self._unknown(f"{self._subject}: {why}", evidence)

    def _unknown(self, says: str, evidence: dict[str, Any]) -> Verdict:
        return Verdict(
            check=self.kind,
            answer="unknown",
            says=says,
            evidence=evidence,
            brief=f"latency of {self.of} unknown",
            punctual=True,
        )

    def _failure(
        self, history: History, records: pl.DataFrame, exceeded: list[str], evidence: dict[str, Any]
    ) -> Verdict:
        start, end = worst_stretch(records, over_ns=self.limits[exceeded[0]].ns)
        during = names_between(faults_of(history), start=start, end=end)
        start_s, end_s = history.seconds(start), history.seconds(end)
        evidence["worst"] = {"start_s": start_s, "end_s": end_s, "during": during}
        slowest = f"slowest {clock(start_s)}–{clock(end_s)}"
        if during:
            slowest += f" (overlaps {during})"
        measured = self._exceeded_texts(records, exceeded)
        long = ", ".join(f"{value}, {limit}" for value, limit in measured)
        brief = ", ".join(f"{value} ({limit})" for value, limit in measured)
        says = f"{self._subject} {long}; {slowest}"
        return self._verdict("fails", says, evidence, f"{self._subject} {brief}")

    def _exceeded_texts(self, records: pl.DataFrame, exceeded: list[str]) -> list[tuple[str, str]]:
        """The measured latency and the limit of each of these, such as p99 2 s and limit 1 s."""
        values = quantiles(records["latency"].drop_nulls())
        texts = []
        for name in exceeded:
            measured = f"{name} {_latency_text(values[name])}"
            texts.append((measured, f"limit {shown(self.limits[name].ns)}"))
        return texts

    def _says_of_all(self, records: pl.DataFrame) -> str:
        latencies = records["latency"].drop_nulls()
        names = [name for name in SHARES if name in ALWAYS_SHOWN or name in self.limits]
        values = quantiles(latencies)
        measured = ", ".join(f"{name} {_latency_text(values[name])}" for name in names)
        limits = ", ".join(f"{name} {shown(limit.ns)}" for name, limit in self.limits.items())
        count = count_of(len(latencies), "record")
        return f"{self._subject} {measured} over {count}; limit {limits}"

    def _verdict(self, answer: Answer, says: str, evidence: dict[str, Any], brief: str) -> Verdict:
        if evidence["lost"]:
            says += f"; {count_of(evidence['lost'], 'record')} never arrived"
        if evidence["undecided"]:
            says += f"; whether {count_of(evidence['undecided'], 'record')} arrived is unknown"
        if evidence["at_unknown_time"]:
            count = count_of(evidence["at_unknown_time"], "record")
            says += f"; {count} whose batch is not known exactly counted as late as possible"
        return Verdict(
            check=self.kind,
            answer=answer,
            says=says,
            evidence=evidence,
            brief=brief,
            punctual=True,
        )


def _with_latency(records: pl.DataFrame) -> pl.DataFrame:
    """Add each record's latency: as measured, NEVER_NS if it is lost, the longest possible if only
    bounds are known, null if it is unknown.
    """
    lost = pl.when("lost").then(NEVER_NS)
    measured = pl.coalesce("seen", "latest") - pl.col("due")
    return records.with_columns(latency=pl.coalesce(measured, lost))


def _possible(known: pl.DataFrame, end_ns: int) -> list[pl.DataFrame]:
    """These records with the shortest and with the longest latencies that they may have had.

    An undecided record may arrive at the moment the run ends, or never.
    """
    undecided = pl.col("latency").is_null() & ~pl.col("silent")
    shortest = pl.coalesce(
        pl.col("earliest") - pl.col("due"),
        pl.col("latency"),
        pl.when(undecided).then(end_ns - pl.col("due")),
    )
    longest = pl.coalesce("latency", pl.when(undecided).then(NEVER_NS))
    return [known.with_columns(latency=shortest), known.with_columns(latency=longest)]


def _counts(records: pl.DataFrame) -> dict[str, Any]:
    """How many records were never seen, and why: lost, undecided, or taken without an output; and
    of how many only bounds are known.
    """
    bounded = records["latest"].count()
    unseen = records.filter(pl.col("seen").is_null() & pl.col("latest").is_null())
    silent = int(unseen["silent"].sum())
    lost = int(unseen["lost"].sum())
    never = unseen.height - silent
    return {
        "never_seen": never,
        "lost": lost,
        "undecided": never - lost,
        "without_output": silent,
        "at_unknown_time": bounded,
    }


def _latency_text(latency_ns: int) -> str:
    return "never" if latency_ns >= NEVER_NS else shown(latency_ns)


def quantiles(latencies: pl.Series) -> dict[str, int]:
    """The latency of each share of SHARES. Between two values the higher one counts."""
    if latencies.is_empty():
        return dict.fromkeys(SHARES, 0)
    ordered = latencies.sort()
    last = len(ordered) - 1
    return {name: int(ordered[math.ceil(share * last)]) for name, share in SHARES.items()}


def worst_stretch(records: pl.DataFrame, *, over_ns: int) -> tuple[int, int]:
    """The span of the slowest record and its late neighbours, from first due to last seen."""
    late = records.filter(pl.col("latency") > over_ns).sort("due")
    stretches = late.with_columns(stretch=(pl.col("due").diff().fill_null(0) > CALM_NS).cum_sum())
    slowest = stretches.sort("latency")["stretch"][-1]
    worst = stretches.filter(pl.col("stretch") == slowest)
    start, end = worst.select(pl.col("due").min(), pl.max_horizontal("seen", "due").max()).row(0)
    return start, end
