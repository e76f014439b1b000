"""Input complete: a job read all records of the offset ranges that it reports."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import numpy as np

from streambed.errors import Problem
from streambed.kinds.checks.components import job_problems, topics_read
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.by_batches import batches_of, unreported_ranges
from streambed.kinds.evidence.course import load_ended
from streambed.kinds.evidence.outputs.deleted import deleted_without_ledger
from streambed.kinds.evidence.outputs.input_log import OFFSET_BITS, InputLog, input_log
from streambed.record.events import Batch
from streambed.record.history import Answer, History, Verdict
from streambed.units import count_of

Completeness = Literal["whole", "lacking", "open"]
SHOWN = 5


@declared
class InputComplete(MayFail):
    """Each batch of the job `of` read as many rows as its offset ranges hold visible records.

    With `failOnDataLoss: false` Spark leaves out what is gone, and reports the range all the same.
    A job that scans its input k times reports k times as many rows, which is complete too.
    """

    kind: Literal["input_complete"] = "input_complete"
    of: str

    @property
    def about(self) -> str:
        """The job: verdicts are named input_complete:JOB."""
        return self.of

    def problems(self, components: Components) -> list[Problem]:
        """`of` must be a job that declares what it reads."""
        return job_problems(components, self.of)

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """All topics that the job reads."""
        return topics_read(components, self.of)

    def judge(self, history: History) -> Verdict:
        """Compare the rows of each batch with the records in its ranges."""
        if not load_ended(history):
            return self._verdict("unknown", "the run broke before the load ended")
        batches = [batch for batch in batches_of(history, self.of) if batch.offsets]
        if not batches:
            return self._verdict("unknown", f"{self.of} reported no batches")
        topics = {topic for batch in batches for topic in batch.offsets}
        logs = {topic: input_log(history, topic) for topic in sorted(topics)}
        absent = [topic for topic, log in logs.items() if log is None and _read_of(batches, topic)]
        if absent:
            return self._verdict("unknown", f"{', '.join(absent)} was not read back")
        untold = [topic for topic in sorted(topics) if deleted_without_ledger(history, topic)]
        if untold:
            says = f"records of {', '.join(untold)} were deleted that are in no ledger"
            return self._verdict("unknown", says)
        visible = [_visible(batch, logs) for batch in batches]
        return self._compare(history, batches, visible)

    def _compare(self, history: History, batches: list[Batch], visible: list[int]) -> Verdict:
        counts: Counter[str] = Counter()
        lacking = []
        for batch, records in zip(batches, visible, strict=True):
            answer = _completeness(batch.rows, records)
            counts[answer] += 1
            if answer == "lacking":
                lacking.append(f"{batch.query} {batch.batch} read {batch.rows} of {records}")
        unreported = unreported_ranges(history, self.of)["batch"].n_unique()
        evidence = {
            "batches": len(batches),
            "rows": sum(batch.rows for batch in batches),
            "records": sum(visible),
            "lacking": counts["lacking"],
            "open": counts["open"],
            "unreported": unreported,
        }
        if lacking:
            return self._verdict("fails", self._says_of_lacking(lacking), evidence)
        return self._verdict_without_lacking(evidence)

    def _says_of_lacking(self, lacking: list[str]) -> str:
        count = count_of(len(lacking), "batch", "es")
        says = f"{count} of {self.of} read less than its range: {', '.join(lacking[:SHOWN])}"
        if len(lacking) > SHOWN:
            says += f" and {len(lacking) - SHOWN} more"
        return says

    def _verdict_without_lacking(self, evidence: dict[str, int]) -> Verdict:
        if evidence["open"]:
            count = count_of(evidence["open"], "batch", "es")
            says = f"{count} of {self.of} reported more rows than records, and no multiple of them"
            return self._verdict("unknown", says, evidence)
        if evidence["unreported"]:
            count = count_of(evidence["unreported"], "batch", "es")
            return self._verdict("unknown", f"Spark did not report {count} of {self.of}", evidence)
        records = count_of(evidence["records"], "record")
        says = f"{records} in {count_of(evidence['batches'], 'batch', 'es')}, all of them read"
        return self._verdict("holds", says, evidence)

    def _verdict(
        self, answer: Answer, says: str, evidence: dict[str, int] | None = None
    ) -> Verdict:
        words = {"holds": "complete", "fails": "incomplete", "unknown": "unknown"}
        brief = f"input of {self.of} {words[answer]}"
        return Verdict(
            check=self.kind, answer=answer, says=says, evidence=dict(evidence or {}), brief=brief
        )


def _read_of(batches: list[Batch], topic: str) -> bool:
    """Whether any batch took something of a topic."""
    ranges = [range_ for batch in batches for range_ in batch.offsets.get(topic, {}).values()]
    return any(past > (first or 0) for first, past in ranges)


def _visible(batch: Batch, logs: dict[str, InputLog | None]) -> int:
    """How many records the ranges of a batch hold."""
    count = 0
    for topic, partitions in batch.offsets.items():
        log = logs[topic]
        if log is None:
            continue
        for partition, (first, past) in partitions.items():
            ends = np.array([first or 0, past]) + (partition << OFFSET_BITS)
            begin, end = np.searchsorted(log.places, ends)
            count += int(end - begin)
    return count


def _completeness(rows: int, records: int) -> Completeness:
    if rows < records:
        return "lacking"
    if rows == records or (records and rows % records == 0):
        return "whole"
    return "open"
