"""Records traced through a job that copies their identity: an output has its input's name.

This works for any engine and broker, with or without offsets, as long as the job copies the header
that carries the identity.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from streambed.kinds.evidence.course import IDENTITY, Taken, by_reader, times_in
from streambed.record.history import History

POSITION = ["topic", "partition", "offset"]


@dataclass(frozen=True, kw_only=True)
class ByIdentity:
    """Evidence about a job whose outputs carry the identity of their input."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    every_input: bool = False
    """Whether each input leads to an output. If not, the job may drop records on purpose."""

    def times_taken(self, history: History, topic: str, records: pl.DataFrame) -> Taken:
        """A record was taken if an output was seen, or if the job itself wrote it to a ledger."""
        by_job = (pl.col("consumer") == self.name) & (pl.col("topic") == topic)
        own = history.ledger.seen.filter(by_job)
        nothing_untold = pl.repeat(False, records.height, eager=True)
        if own.height:
            return Taken(times=times_in(own, records), untold=nothing_untold)
        # Several readers may see one output: that does not say how often the job took its input.
        once = times_in(self._outputs(history, witness=True), records).clip(upper_bound=1)
        untold = nothing_untold if self.every_input else once == 0
        why = "no output of {} was seen, and not every input leads to one"
        return Taken(times=once, untold=untold, why_untold=why, evident=bool(once.sum()))

    def journeys(self, history: History) -> pl.DataFrame:
        """Every record sent to a topic that the job reads, until its output was first seen."""
        outputs = self._outputs(history, witness=False)
        first_seen = outputs.group_by(IDENTITY).agg(pl.col("seen").min())
        producers = first_seen["producer"].unique().to_list()
        awaited = pl.col("topic").is_in(list(self.reads)) | pl.col("producer").is_in(producers)
        journeys = history.ledger.sent.filter(awaited).join(first_seen, on=IDENTITY, how="left")
        silent = pl.lit(not self.every_input) & pl.col("seen").is_null()
        return journeys.select(
            *POSITION, "due", "seen", silent=silent, acked=pl.col("acked").is_not_null()
        )

    def output_dues(
        self, history: History, topics: frozenset[str], *, below: frozenset[str]
    ) -> pl.DataFrame:
        """An output was due when its input was."""
        with_offset = pl.col("topic").is_in(list(topics)) & (pl.col("offset") >= 0)
        outputs = history.ledger.seen.filter(with_offset).unique(POSITION)
        dues = history.ledger.sent.select(*IDENTITY, "due").unique(IDENTITY)
        return outputs.join(dues, on=IDENTITY).select(*POSITION, "due")

    def _outputs(self, history: History, *, witness: bool) -> pl.DataFrame:
        """Records seen in the topics that the job writes, with or without what the witness saw."""
        by_job = pl.col("topic").is_in(list(self.writes)) & pl.col("producer").is_not_null()
        seen = history.ledger.seen.filter(by_job)
        return seen if witness else seen.filter(by_reader())
