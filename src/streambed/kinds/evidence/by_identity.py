"""The way of a record through a job that passes on the identity of each record: its output is known
by the same name.

It works for any engine and any broker, with or without offsets, as long as the job copies the
header that carries the identity.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from streambed.kinds.evidence.taken import Taken
from streambed.plan import WITNESS
from streambed.record.history import History

IDENTITY = ["producer", "sequence"]
PLACE = ["topic", "partition", "offset"]


@dataclass(frozen=True, kw_only=True)
class ByIdentity:
    """A job whose outputs carry the identity of their input: what kinds/components/engine.py asks
    of an engine's evidence.
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    every_input: bool = False
    """Whether each input leads to an output. Without that promise a record without an output may
    have been left out on purpose.
    """

    def times_taken(self, history: History, topic: str, records: pl.DataFrame) -> Taken:
        """A record was taken if an output of it was seen, or if the job itself noted it in a
        ledger.
        """
        own = history.ledger.seen.filter(
            (pl.col("consumer") == self.name) & (pl.col("topic") == topic)
        )
        sights = own if own.height else self._outputs(history, witness=True)
        counts = sights.group_by(IDENTITY).agg(times=pl.len().cast(pl.Int64))
        times = records.join(counts, on=IDENTITY, how="left", maintain_order="left")[
            "times"
        ].fill_null(0)
        if own.height:
            return Taken(times=times, untold=pl.repeat(False, records.height, eager=True))
        # Several readers may have seen one output, which says nothing of how often the job took its
        # input.
        once = times.clip(upper_bound=1)
        untold = (
            (once == 0) if not self.every_input else pl.repeat(False, records.height, eager=True)
        )
        why = "no output of {} was seen, and not every input leads to one"
        return Taken(times=once, untold=untold, why_untold=why, evident=bool(once.sum()))

    def journeys(self, history: History) -> pl.DataFrame:
        """Every record that was sent to a topic which the job reads, until its output was first
        seen.
        """
        first = self._outputs(history, witness=False).group_by(IDENTITY).agg(pl.col("seen").min())
        awaited = pl.col("topic").is_in(list(self.reads)) | pl.col("producer").is_in(
            first["producer"].unique().to_list()
        )
        sent = history.ledger.sent.filter(awaited)
        journeys = sent.join(first, on=IDENTITY, how="left")
        silent = pl.lit(not self.every_input) & pl.col("seen").is_null()
        return journeys.select(
            *PLACE, "due", "seen", silent=silent, acked=pl.col("acked").is_not_null()
        )

    def output_dues(
        self, history: History, topics: frozenset[str], *, below: frozenset[str]
    ) -> pl.DataFrame:
        """An output was due when its input was."""
        outputs = history.ledger.seen.filter(
            pl.col("topic").is_in(list(topics)) & (pl.col("offset") >= 0)
        ).unique(PLACE)
        dues = history.ledger.sent.select(*IDENTITY, "due").unique(IDENTITY)
        return outputs.join(dues, on=IDENTITY).select(*PLACE, "due")

    def _outputs(self, history: History, *, witness: bool) -> pl.DataFrame:
        seen = history.ledger.seen.filter(
            pl.col("topic").is_in(list(self.writes)) & pl.col("producer").is_not_null()
        )
        return seen if witness else seen.filter(pl.col("consumer") != WITNESS)
