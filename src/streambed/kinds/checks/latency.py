"""Latency: how long after a record was due a consumer saw it, or what a Spark job made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import polars as pl
from pydantic import model_validator

from streambed.errors import Problem, suggestion
from streambed.fidelity import fidelity
from streambed.history import Answer, History, Verdict
from streambed.kinds.checks.course import counted, faults_of, in_doubt, load_ended, names_between
from streambed.kinds.checks.readers import IDENTITY, of_component, topics_in
from streambed.kinds.checks.through_spark import inputs_and_sights, intermediate_topics
from streambed.kinds.declaring import declared
from streambed.units import Duration, clock, shown

CALM_NS = 1_000_000_000
"""Late records that were due further apart than this belong to different stretches."""


@declared
class Latency:
    """The latency through `of`, a consumer or a Spark job, stays within the limits given: one at least.

    It counts from the time at which a record was due, not from when it was sent, until it was first seen. Through a Spark job,
    until some consumer first saw an output of the batch that took the record. Records without an outcome are counted, not judged.
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

    def problems(self, components: Mapping[str, Any]) -> list[Problem]:
        """It must be of a consumer, a sink, or a Spark job that says what it reads and writes."""
        known = {name: found for name, found in components.items() if found.kind in ("consumer", "sink", "spark_job")}
        if self.of not in known:
            return [Problem(key="of", says=f"no consumer, sink or Spark job is called '{self.of}'. {suggestion(self.of, known)}")]
        found = known[self.of]
        if found.kind == "spark_job" and not (found.reads and found.writes):
            return [Problem(key="of", says=f"'{self.of}' must declare the topics that it reads and writes")]
        return []

    def witnessed(self, declaration: Mapping[str, Any]) -> tuple[str, ...]:
        """The topics between chained jobs, which need not have a consumer of their own."""
        return intermediate_topics(declaration.get("components", {}), self.of)

    def judge(self, history: History) -> Verdict:
        """Compare the measured latencies with the limits. An answer that rests on times that are not to be believed is unknown."""
        if not load_ended(history):
            return Verdict(check=self.kind, answer="unknown", says="the run broke before the load ended")
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
            return replace(verdict, says=f"{verdict.says}; the same without {doubtful} of doubtful time", evidence=evidence)
        says = f"it rests on {doubtful} of time that is not to be believed; with them: {verdict.says}"
        return replace(verdict, answer="unknown", says=says, evidence=evidence)

    def _judged(self, history: History, records: pl.DataFrame) -> Verdict:
        measured = records.drop_nulls("seen").with_columns(latency=pl.col("seen") - pl.col("due"))
        evidence = _missing(records)
        if measured.is_empty():
            unseen = f"nobody saw what became of {counted(records.height, 'record')}"
            says = f"{self.of}: {unseen if records.height else 'no record with a due time came its way'}"
            return Verdict(check=self.kind, answer="unknown", says=says, evidence=evidence)
        found = quantiles(measured["latency"])
        evidence |= {"records": measured.height, **{f"{name}_ns": value for name, value in found.items()}}
        broken = [name for name, limit in self.limits.items() if found[name] > limit.ns]
        if not broken:
            return self._verdict("holds", self._says_of_all(found, measured.height), evidence)
        start, end = worst_stretch(measured, over_ns=self.limits[broken[0]].ns)
        during = names_between(faults_of(history), start=start, end=end)
        start_s, end_s = history.seconds(start), history.seconds(end)
        evidence["worst"] = {"start_s": start_s, "end_s": end_s, "during": during}
        limits = ", ".join(f"{name} {shown(found[name])}, limit {shown(self.limits[name].ns)}" for name in broken)
        worst = f"worst {clock(start_s)}–{clock(end_s)}" + (f", during {during}" if during else "")
        return self._verdict("fails", f"{self.of} {limits}; {worst}", evidence)

    def _says_of_all(self, found: dict[str, int], count: int) -> str:
        measured = ", ".join(f"{name} {shown(value)}" for name, value in found.items())
        limits = ", ".join(f"{name} {shown(limit.ns)}" for name, limit in self.limits.items())
        return f"{self.of} {measured} over {counted(count, 'record')}; limit {limits}"

    def _verdict(self, answer: Answer, says: str, evidence: dict[str, Any]) -> Verdict:
        never = evidence["never_seen"]
        says += f"; {never} sent {'record was' if never == 1 else 'records were'} never seen" if never else ""
        return Verdict(check=self.kind, answer=answer, says=says, evidence=evidence)


def journeys(history: History, component: str) -> pl.DataFrame:
    """A row for each record on its way to a consumer or through a Spark job: topic, partition, offset, due, seen (null: never)."""
    batches = any(event.fields["component"] == component for event in history.of("batch"))
    if batches or component in history.components("spark_job"):
        return inputs_and_sights(history, component)
    own = history.ledger.seen.filter(of_component("consumer", component) & pl.col("producer").is_not_null())
    reads = topics_in(history.components("consumer", "sink").get(component, {}).get("reads"))
    first = own.group_by("group", *IDENTITY).agg(pl.col("seen").min())
    # A job may give a record on to another topic, header and all: it is still the record that its producer sent.
    awaited = pl.col("topic").is_in(list(reads)) | pl.col("producer").is_in(own["producer"].unique().to_list())
    sent = history.ledger.sent.filter(awaited)
    return sent.join(first, on=IDENTITY, how="left").select("topic", "partition", "offset", "due", "seen")


def _missing(records: pl.DataFrame) -> dict[str, Any]:
    """How many records never had an outcome, and how many were taken by batches of which no output was seen."""
    unseen = records.filter(pl.col("seen").is_null())
    silent = unseen["batch"].count() if "batch" in unseen.columns else 0
    return {"never_seen": unseen.height - silent, "without_output": silent}


def quantiles(latencies: pl.Series) -> dict[str, int]:
    """The median, the 99th percentile and the maximum; between two values the higher one, which never flatters."""
    wanted = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {name: int(latencies.quantile(share, interpolation="higher") or 0) for name, share in wanted.items()}


def worst_stretch(measured: pl.DataFrame, *, over_ns: int) -> tuple[int, int]:
    """The time in which the slowest record and its late neighbours were on their way: first due, last seen."""
    late = measured.filter(pl.col("latency") > over_ns).sort("due")
    stretches = late.with_columns(stretch=(pl.col("due").diff().fill_null(0) > CALM_NS).cum_sum())
    slowest = stretches.sort("latency")["stretch"][-1]
    start, end = stretches.filter(pl.col("stretch") == slowest).select(pl.col("due").min(), pl.col("seen").max()).row(0)
    return start, end
