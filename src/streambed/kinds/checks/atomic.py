"""Atomic: a reader of a store sees all rows of a batch, or none."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import polars as pl
from pydantic import Field

from streambed.errors import Problem
from streambed.kinds.checks.components import job_problems, store_problems
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.by_batches import batches_of
from streambed.kinds.evidence.course import load_ended
from streambed.record.events import Batch
from streambed.record.history import Answer, History, Verdict
from streambed.record.ledger.stored_rows import StoreProbe
from streambed.units import Duration, count_of

MS_NS = 1_000_000
SHOWN = 5


@declared
class Atomic(MayFail):
    """Rows that one batch of the job `of` writes to `store` appear all at once.

    A probe reads the store again and again under load. It can find a batch that was seen in part,
    but it proves nothing unless enough reads fell into the time in which a batch was written.
    """

    kind: Literal["atomic"] = "atomic"
    of: str
    """The job."""
    store: str
    """The store that it writes."""
    query: str
    """In the store's own language: a batch in the first column, how many rows it has in the second.
    """
    every: Duration = Duration(50e6)
    """How often the probe reads."""
    reads: Annotated[int, Field(ge=1)] = 20
    """How many reads must fall into the writing of batches for the answer to be holds."""

    @property
    def about(self) -> str:
        """Job and store: atomic:JOB:STORE."""
        return f"{self.of}:{self.store}"

    @property
    def probe(self) -> StoreProbe:
        """The query that reads batches and their rows from the store during the run."""
        return StoreProbe(store=self.store, text=self.query, every_ns=self.every.ns)

    def problems(self, components: Components) -> list[Problem]:
        """The job and the store must be declared."""
        return job_problems(components, self.of) + store_problems(components, self.store)

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """It needs no topic read back."""
        return ()

    def store_probes(self, components: Components) -> tuple[StoreProbe, ...]:
        """The probe that looks for batches seen in part."""
        return (self.probe,)

    def judge(self, history: History) -> Verdict:
        """Look for a batch that was seen in part."""
        if not load_ended(history):
            return self._verdict("unknown", "the run broke before the load ended")
        probed = history.ledger.probed.filter(pl.col("probe") == self.probe.name)
        answered = probed.filter(pl.col("error").is_null())
        if answered["batch"].count() == 0:
            errors = probed["error"].drop_nulls()
            why = f": {errors[-1]}" if len(errors) else ""
            return self._verdict("unknown", f"no read found a batch in {self.store}{why}")
        return self._verdict_of(history, answered)

    def _verdict_of(self, history: History, answered: pl.DataFrame) -> Verdict:
        reads = answered.select("asked", "answered").unique()
        inside = reads_while_writing(batches_of(history, self.of), reads)
        torn, doubtful = torn_batches(answered)
        evidence: dict[str, Any] = {
            "reads": reads.height,
            "while_writing": inside,
            "torn": torn,
            "doubtful": doubtful,
        }
        read = f"{count_of(reads.height, 'read')}, {inside} of them while a batch was written"
        if torn:
            count = count_of(len(torn), "batch", "es")
            says = f"{count} of {self.of} seen in part in {self.store}: {_first_names(torn)}"
            return self._verdict("fails", f"{says}; {read}", evidence)
        if doubtful:
            count = count_of(len(doubtful), "batch", "es")
            says = f"{count} grew to a multiple, by being doubled or in parts; {read}"
            return self._verdict("unknown", says, evidence)
        if inside < self.reads:
            says = f"{read}: too few to tell, {self.reads} are needed"
            return self._verdict("unknown", says, evidence)
        return self._verdict("holds", f"no batch was seen in part in {read}", evidence)

    def _verdict(
        self, answer: Answer, says: str, evidence: dict[str, Any] | None = None
    ) -> Verdict:
        words = {"holds": "atomic", "fails": "torn", "unknown": "not known to be atomic"}
        brief = f"batches of {self.of} in {self.store} {words[answer]}"
        return Verdict(
            check=self.kind, answer=answer, says=says, evidence=evidence or {}, brief=brief
        )


def _first_names(batches: list[str]) -> str:
    more = f" and {len(batches) - SHOWN} more" if len(batches) > SHOWN else ""
    return ", ".join(batches[:SHOWN]) + more


def torn_batches(answered: pl.DataFrame) -> tuple[list[str], list[str]]:
    """The batches that had fewer rows at first than later; and those that may only be doubled."""
    sizes = (
        answered.filter(pl.col("rows") > 0)
        .group_by("batch")
        .agg(
            most=pl.col("rows").max(),
            partial=pl.col("rows").filter(pl.col("rows") < pl.col("rows").max()).unique(),
        )
    )
    torn, doubtful = [], []
    for batch, most, partial in sizes.sort("batch").iter_rows():
        if any(most % size for size in partial):
            torn.append(batch)
        elif partial:
            doubtful.append(batch)
    return torn, doubtful


def reads_while_writing(batches: list[Batch], reads: pl.DataFrame) -> int:
    """How many reads overlap the time in which a batch with rows was written."""
    spans = []
    for batch in batches:
        written = batch.end - round(batch.durations_ms.get("commitOffsets", 0) * MS_NS)
        writing = round(batch.durations_ms.get("addBatch", 0) * MS_NS)
        if batch.rows and writing:
            spans.append((written - writing, written))
    overlaps = [(pl.col("asked") <= end) & (pl.col("answered") >= start) for start, end in spans]
    return reads.filter(pl.any_horizontal(pl.lit(False), *overlaps)).height
