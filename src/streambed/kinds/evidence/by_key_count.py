"""Records traced through a job by counting: the n-th output of a key covers its n-th input.

    input log   k1 k2 k1 k1 k2        order: offsets of one partition
                 │  │  │  │  │
    output log  k1 k1 k2 k1 k2        each key by itself: first to first, second to second

This is for jobs that write exactly one output per input, with the same key and in the order of the
key's inputs. "First" and "second" are by offset. A count proves nothing, and the answer is unknown,

- if the record has no key, or the broker gave no offset;
- if the key's inputs or its outputs are spread over several partitions or topics: offsets of
  different partitions have no order;
- if an offset before it is unknown, because no reader saw what is there: that may be the same key;
- if the key has more outputs than inputs: some output is a duplicate;
- if it has fewer, and some outputs were not read, or have no key or one that no input has.

If a key has fewer outputs than inputs and all outputs were read, that many inputs are lost. Which
ones, a count cannot tell: the key's last ones are named, and the latency of its others is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from streambed.kinds.evidence.by_batches import dues_of
from streambed.kinds.evidence.course import Taken, Unread, by_reader
from streambed.kinds.evidence.readers import readers_of, witness_of
from streambed.plan import WITNESS
from streambed.record.history import History

PARTITION = ["topic", "partition"]
POSITION = [*PARTITION, "offset"]
NO_POSITIONS = pl.DataFrame(
    schema={
        "topic": pl.String,
        "partition": pl.Int32,
        "offset": pl.Int64,
        "key": pl.Int64,
        "known": pl.Boolean,
    }
)
WHY_UNTOLD = (
    "a count by key does not tell what became of {}: there is no key, its order is unknown, or "
    "outputs are unread or duplicated"
)


@dataclass(frozen=True, kw_only=True)
class ByKeyCount:
    """Evidence about a job whose n-th output of a key covers the n-th input of that key."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    def times_taken(self, history: History, topic: str, records: pl.DataFrame) -> Taken:
        """A record was taken if its key has that many outputs.

        Records that the witness did not find in the log do not count: they are no inputs.
        """
        inputs = self._inputs(history).filter(pl.col("topic") == topic)
        outcomes = records.select("partition", "offset", "in_log").join(
            inputs, on=["partition", "offset"], how="left", maintain_order="left"
        )
        in_log = outcomes["in_log"].fill_null(True)
        untold = (outcomes["untold"].fill_null(True) & in_log).alias("untold")
        times = (outcomes["taken"].fill_null(False) & ~untold & in_log).cast(pl.Int64)
        evident = not self._outputs(history).is_empty()
        return Taken(times=times, untold=untold, why_untold=WHY_UNTOLD, evident=evident)

    def journeys(self, history: History) -> pl.DataFrame:
        """Every input with a due time, until a consumer first saw the output that covers it."""
        dues = dues_of(history, frozenset(self.reads), below=frozenset({self.name}))
        covered = self._inputs(history).join(self._first_seen(history), on=["key", "n"], how="left")
        journeys = dues.join(covered, on=POSITION, how="left")
        # Where the counts differ, the n-th output may cover another input.
        seen = pl.when(pl.col("matched")).then("seen")
        lost = ~pl.col("taken") & ~pl.col("untold")
        untold = ~(pl.col("matched") | lost).fill_null(False)
        return journeys.select(*POSITION, "due", seen=seen, untold=untold)

    def output_dues(
        self, history: History, topics: frozenset[str], *, below: frozenset[str]
    ) -> pl.DataFrame:
        """An output was due when the input was that it covers."""
        outputs = self._outputs(history).filter(pl.col("topic").is_in(list(topics)))
        inputs = self._inputs(history).filter("matched")
        dues = dues_of(history, frozenset(self.reads), below=below | {self.name})
        due_by_count = inputs.join(dues, on=POSITION).select("key", "n", "due")
        return outputs.join(due_by_count, on=["key", "n"]).select(*POSITION, "due")

    def _inputs(self, history: History) -> pl.DataFrame:
        """Every position of the topics that the job reads: key, n, taken, matched, untold.

        taken    the key has at least n outputs
        matched  the key has as many outputs as inputs
        untold   the count proves nothing about it
        """
        counted = _count_by_key(history, self.reads)
        outputs = self._outputs(history)
        joined = _with_output_counts(counted, outputs)
        inputs = pl.len().over("key").cast(pl.Int64)
        # The order of a key is known if that of each of its inputs is.
        inputs_sure = pl.col("key").is_not_null() & pl.col("sure").all().over("key")
        sure = inputs_sure & pl.col("outputs_sure")
        missing_means_lost = pl.lit(self._writes_known(history, counted, outputs))
        fewer = pl.col("outputs") < inputs
        return joined.select(
            *POSITION,
            "key",
            "n",
            taken=pl.col("n") <= pl.col("outputs"),
            matched=sure & (pl.col("outputs") == inputs),
            untold=~sure | (pl.col("outputs") > inputs) | (fewer & ~missing_means_lost),
        )

    def _writes_known(self, history: History, inputs: pl.DataFrame, outputs: pl.DataFrame) -> bool:
        """Whether an output that is missing was never written: all were read, and the job keeps
        keys.
        """
        kept_keys = outputs["key"].is_in(inputs["key"].drop_nulls().implode()).fill_null(False)
        read_to_end = all(_read_to_end(history, topic) for topic in self.writes)
        return read_to_end and bool(outputs["known"].all()) and bool(kept_keys.all())

    def _outputs(self, history: History) -> pl.DataFrame:
        """Every position of the topics that the job writes: key, n, known, sure."""
        return _count_by_key(history, self.writes)

    def _first_seen(self, history: History) -> pl.DataFrame:
        """When a consumer first saw the n-th output of a key."""
        by_consumer = history.ledger.seen.filter(by_reader())
        first_seen = by_consumer.group_by(POSITION).agg(pl.col("seen").min())
        outputs = self._outputs(history).drop_nulls("key")
        # If the outputs of a key are spread, a number occurs twice; such a key is unknown anyway.
        return outputs.join(first_seen, on=POSITION).unique(["key", "n"]).select("key", "n", "seen")


def _with_output_counts(inputs: pl.DataFrame, outputs: pl.DataFrame) -> pl.DataFrame:
    """Add the number of outputs of each input's key, and whether all of them are sure."""
    by_key = outputs.group_by("key").agg(
        outputs=pl.len().cast(pl.Int64), outputs_sure=pl.col("sure").all()
    )
    return inputs.join(by_key, on="key", how="left").with_columns(
        outputs=pl.col("outputs").fill_null(0),
        outputs_sure=pl.col("outputs_sure").fill_null(True),
    )


def _count_by_key(history: History, topics: tuple[str, ...]) -> pl.DataFrame:
    """Every position of these topics: key, n (counted from 1 by key), known and sure.

    It is known if all before it in its partition are, and sure if also the key is in one partition
    only.
    """
    parts = [_positions(history, topic) for topic in topics]
    positions = pl.concat([NO_POSITIONS, *parts]).sort(POSITION)
    number = pl.int_range(1, pl.len() + 1).over([*PARTITION, "key"])
    partitions = pl.struct(PARTITION).n_unique().over("key")
    sure = pl.col("known") & (partitions == 1)
    return positions.select(*POSITION, "key", "known", n=number.cast(pl.Int64), sure=sure)


def _positions(history: History, topic: str) -> pl.DataFrame:
    """What is known of a topic's log: a row for each offset, with `key` and `known`.

    What the witness read back is the log. Without it the log is what was acked or seen, up to the
    first offset of a partition that is missing or that two records claim.
    """
    at_topic = (pl.col("topic") == topic) & (pl.col("offset") >= 0)
    seen = history.ledger.seen.filter(at_topic)
    if witness_of(history, topic):
        read_back = seen.filter(pl.col("consumer") == WITNESS).unique(POSITION)
        return read_back.select(*POSITION, "key", known=pl.lit(True))
    acked = history.ledger.sent.filter(at_topic & pl.col("acked").is_not_null())
    log = _claimed_offsets(acked, seen).sort(POSITION)
    in_place = pl.col("offset") == pl.int_range(pl.len())
    known = (in_place & pl.col("clear")).cast(pl.Int8).cum_min().over(PARTITION).cast(pl.Boolean)
    return log.select(*POSITION, "key", known=known)


def _claimed_offsets(acked: pl.DataFrame, seen: pl.DataFrame) -> pl.DataFrame:
    """A row for each offset that was acked or seen. `clear`: all name one record and one key."""
    columns = [*POSITION, "producer", "sequence", "key"]
    claims = pl.concat([acked.select(columns), seen.select(columns)]).unique()
    identity = pl.struct("producer", "sequence").filter(pl.col("producer").is_not_null())
    keys = pl.col("key").drop_nulls()
    clear = (identity.n_unique() <= 1) & (keys.n_unique() <= 1)
    return claims.group_by(POSITION).agg(key=keys.first(), clear=clear)


def _read_to_end(history: History, topic: str) -> bool:
    if witness_of(history, topic):
        return True
    groups = [reader for reader in readers_of(history, topic) if reader.evidence is None]
    return any(reader.unread(history, topic) == Unread() for reader in groups)
