"""Available: records that are due are acknowledged in time, and there is no long gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import polars as pl

from streambed.errors import Problem
from streambed.judge.columns import frame_of_topic
from streambed.kinds.checks.components import topic_problems
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.checks.phases import due_in_phase, phase_problems, phase_text
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.course import faults_of, load_ended, names_between
from streambed.kinds.evidence.unsent import columns_needed, unsent_records
from streambed.record.history import Answer, History, Verdict
from streambed.units import Duration, Share, clock, count_of, shown


@declared
class Available(MayFail):
    """Of the records due for `topic`, at least `share` are acknowledged `within` a time.

    Records count by when they were due, not by when they were sent. Records that were due while
    their producer was down are not counted.
    """

    kind: Literal["available"] = "available"
    topic: str
    within: Duration
    """The longest time from due to acknowledged."""
    share: Share = Share(0.99)
    """How many of the records must keep it."""
    gap: Duration | None = None
    """The longest time without any acknowledgement; default: any."""
    during: str = ""
    """Count only the records that were due then, as in `latency`."""

    @property
    def about(self) -> str:
        """The topic, and the phase if there is one."""
        return f"{self.topic}:{self.during}" if self.during else self.topic

    def problems(self, components: Components) -> list[Problem]:
        """A producer with a ledger must write the topic."""
        if wrong := topic_problems(components, self.topic):
            return wrong
        writers = [
            component
            for component in components.values()
            if self.topic in component.topics_written and not component.as_engine
        ]
        if not writers:
            says = f"no producer writes {self.topic}, so no acknowledgements are recorded"
            return [Problem(key="topic", says=says)]
        silent = [writer.name for writer in writers if not writer.keeps_ledger]
        if silent:
            says = f"{', '.join(silent)} keeps no ledger: leave out `ledger: false`"
            return [Problem(key="topic", says=says)]
        return []

    def fault_problems(self, kinds: Sequence[str]) -> list[Problem]:
        """`during` must name a phase that this experiment has."""
        return phase_problems(self.during, kinds)

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """It needs no topic read back."""
        return ()

    def judge(self, history: History) -> Verdict:
        """Count the records that were acknowledged in time, and look for the longest gap."""
        if not load_ended(history):
            return self._verdict("unknown", "the run broke before the load ended", {})
        columns = ("due", "acked", "offset", *columns_needed(history))
        due = frame_of_topic(history.ledger, "sent", self.topic, columns)
        if self.during:
            due = due.filter(due_in_phase(history, self.during))
        if due.is_empty():
            when = f" {phase_text(self.during)}" if self.during else ""
            return self._verdict("unknown", f"no record of {self.topic} was due{when}", {})
        if (due["acked"].is_not_null() & (due["offset"] < 0)).any():
            says = "some records were sent with acks=0: their acknowledgements mean nothing"
            return self._verdict("unknown", says, {})
        return self._judge_records(history, due)

    def _judge_records(self, history: History, due: pl.DataFrame) -> Verdict:
        in_time = int(((due["acked"] - due["due"]) <= self.within.ns).sum())
        unsent = unsent_records(history, due)
        total = due.height + unsent.unnoted
        least, most = in_time / total, (in_time + unsent.unnoted) / total
        start, end = longest_gap(due)
        gap_ns = end - start
        evidence = {
            "due": due.height,
            "in_time": in_time,
            "share": least,
            "unnoted": unsent.unnoted,
            "producer_down": unsent.down,
            "gap_ns": gap_ns,
            "gap_start_s": history.seconds(start),
            "gap_end_s": history.seconds(end),
        }
        wanted = self.share.fraction
        too_long = self.gap is not None and gap_ns > self.gap.ns
        says = self._says(history, evidence)
        if most < wanted or too_long:
            return self._verdict("fails", says, evidence)
        if least < wanted:
            count = count_of(unsent.unnoted, "record")
            says = f"it depends on {count} that a killed producer may have sent; {says}"
            return self._verdict("unknown", says, evidence)
        return self._verdict("holds", says, evidence)

    def _says(self, history: History, evidence: dict[str, Any]) -> str:
        start_s, end_s = evidence["gap_start_s"], evidence["gap_end_s"]
        start = history.start_ns + round(start_s * 1e9)
        end = history.start_ns + round(end_s * 1e9)
        during = names_between(faults_of(history), start=start, end=end)
        overlaps = f", overlaps {during}" if during else ""
        limit = f" (limit {shown(self.gap.ns)})" if self.gap else ""
        down = count_of(evidence["producer_down"], "record")
        left_out = f"; {down} due while a producer was down" if evidence["producer_down"] else ""
        return (
            f"{_percent(evidence['share'])} of {count_of(evidence['due'], 'record')} acked within "
            f"{shown(self.within.ns)}, wanted {_percent(self.share.fraction)}; longest gap "
            f"{shown(evidence['gap_ns'])}{limit} from {clock(start_s)}{overlaps}{left_out}"
        )

    def _verdict(self, answer: Answer, says: str, evidence: dict[str, Any]) -> Verdict:
        share = f": {_percent(evidence['share'])} in time" if evidence else " unknown"
        brief = f"availability of {self.topic}{share}"
        return Verdict(
            check=self.kind,
            answer=answer,
            says=says,
            evidence=evidence,
            brief=brief,
            punctual=True,
        )


def _percent(share: float) -> str:
    """A share that is not rounded up to 100 %."""
    return f"{int(share * 100_000) / 1000:g} %"


def longest_gap(due: pl.DataFrame) -> tuple[int, int]:
    """The longest span without an acknowledgement, from the first record due to the last.

    It ends with the acknowledgement after it, or with the last record due if there was none.
    """
    begin, last = due["due"].min(), due["due"].max()
    assert isinstance(begin, int) and isinstance(last, int)
    acks = due["acked"].drop_nulls().sort()
    ends = acks.append(pl.Series([max(last, *acks.tail(1))], dtype=pl.Int64))
    starts = pl.concat([pl.Series([begin], dtype=pl.Int64), ends[:-1]])
    row = (ends - starts).arg_max()
    assert row is not None
    return starts[row], ends[row]
