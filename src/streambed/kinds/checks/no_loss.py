"""No loss: whoever reads a topic sees every record of it that was acknowledged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from streambed.errors import Problem, suggestion
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.course import Unread, counted, faults_of, load_ended, names_during
from streambed.kinds.evidence.readers import (
    IDENTITY,
    Reader,
    readers_of,
    times_seen,
    without_ledger,
    witness_of,
)
from streambed.kinds.evidence.taken import Taken
from streambed.record.history import Answer, History, Verdict

NAMES_SHOWN = 20
LOG, WAY, EITHER = "log", "way", "either"
"""Which part of its way lost a record."""


@declared
class NoLoss:
    """Every record of `topic` that was acknowledged is seen by each of its readers: consumer groups
    and jobs.

    Seeing one twice is allowed. A group that starts at the latest record need not see what is older
    than the first it saw. A job has seen what its engine says that it took: Spark, the offsets of
    its batches.
    """

    kind: Literal["no_loss"] = "no_loss"
    topic: str
    by: tuple[str, ...] = ()
    """Names of the groups, consumers, sinks or jobs that must see everything; default: all that
    read the topic.
    """

    @property
    def about(self) -> str:
        """The topic."""
        return self.topic

    def problems(self, components: Mapping[str, Any]) -> list[Problem]:
        """The topic must be declared, and those named in `by` must read it."""
        brokers = [component.as_broker for component in components.values() if component.as_broker]
        topics = [topic for broker in brokers for topic in broker.partitions]
        names: dict[str, None] = {}
        for name, component in components.items():
            for reader in component.readers:
                if self.topic in reader.topics:
                    names |= dict.fromkeys((name, reader.name))
        wrong = []
        if self.topic not in topics:
            wrong.append(
                Problem(
                    key="topic", says=f"no topic '{self.topic}'. {suggestion(self.topic, topics)}"
                )
            )
        for name in self.by:
            if name not in names:
                says = f"'{name}' does not read {self.topic}. {suggestion(name, names)}"
                wrong.append(Problem(key="by", says=says, about=frozenset({name})))
        return wrong

    def witnessed(self, components: Mapping[str, Any]) -> tuple[str, ...]:
        """Its topic: only so can what the log lost be told from what a reader missed."""
        return (self.topic,)

    def judge(self, history: History) -> Verdict:
        """Compare what was acked with what each reader saw."""
        acked = acked_records(history, self.topic)
        readers = self._readers(history)
        absent = [
            name
            for name in self.by
            if not any(name in (reader.name, *reader.components) for reader in readers)
        ]
        if not load_ended(history):
            return self._verdict("unknown", "the run broke before the load ended")
        if silent := without_ledger(history, self.topic):
            return self._verdict("unknown", f"{', '.join(silent)} kept no ledger of {self.topic}")
        if acked.is_empty():
            return self._verdict("unknown", f"nothing was acked on {self.topic}")
        if absent:
            return self._verdict(
                "unknown",
                f"nothing in this run is called {', '.join(absent)} and reads {self.topic}",
            )
        if not readers:
            return self._verdict(
                "unknown", f"nobody reads {self.topic}, and no witness read it back"
            )
        findings = [finding_of(history, reader, self.topic, acked) for reader in readers]
        return self._together(findings, acked.height, history)

    def _readers(self, history: History) -> list[Reader]:
        readers = readers_of(history, self.topic)
        if self.by:
            return [
                reader for reader in readers if {reader.name, *reader.components} & set(self.by)
            ]
        witness = witness_of(history, self.topic)
        return readers or ([witness] if witness else [])

    def _together(self, findings: list[Finding], acked: int, history: History) -> Verdict:
        alone = len(findings) == 1
        lost = lost_records(findings, history)
        seen = {
            finding.reader.name: {"seen": finding.seen, "duplicates": finding.duplicates}
            for finding in findings
        }
        evidence = {"acked": acked, "readers": seen, "lost": lost.to_dicts()}
        if not lost.is_empty():
            return self._verdict("fails", says_of_lost(lost, acked, alone=alone), evidence)
        doubts = [finding.doubt for finding in findings if finding.doubt]
        if doubts:
            return self._verdict("unknown", "; ".join(doubts), evidence)
        return self._verdict("holds", says_of_seen(findings, acked), evidence)

    def _verdict(
        self, answer: Answer, says: str, evidence: dict[str, Any] | None = None
    ) -> Verdict:
        return Verdict(check=self.kind, answer=answer, says=says, evidence=evidence or {})


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one reader saw of the acked records: `older` need not be seen, `lost` certainly was not,
    `doubt` is why the rest is unknown.
    """

    reader: Reader
    seen: int
    duplicates: int
    older: int
    lost: pl.DataFrame
    doubt: str


def acked_records(history: History, topic: str) -> pl.DataFrame:
    """The acknowledged records of a topic; `in_log` says whether the witness found them, null if
    there was no witness.
    """
    sent = history.ledger.sent.filter((pl.col("topic") == topic) & pl.col("acked").is_not_null())
    acked = sent.select("producer", "sequence", "topic", "partition", "offset", "due", "acked")
    witness = witness_of(history, topic)
    if not witness:
        return acked.with_columns(in_log=pl.lit(None, dtype=pl.Boolean))
    return acked.with_columns(in_log=times_seen(history, witness, topic, acked).times > 0)


def finding_of(history: History, reader: Reader, topic: str, acked: pl.DataFrame) -> Finding:
    """Sort the acked records into seen, lost and undecided for one reader."""
    taken = times_seen(history, reader, topic, acked)
    unread = reader.unread(history, topic) if taken.evident else Unread(everything=True)
    records = acked.with_columns(times=taken.times, untold=taken.untold)
    seen = records.filter(pl.col("times") > 0)
    ends = seen.group_by("partition").agg(began=pl.col("offset").min(), last=pl.col("offset").max())
    missing = records.filter(pl.col("times") == 0).join(ends, on="partition", how="left")
    older = (
        pl.col("began").is_null() | (pl.col("offset") < pl.col("began"))
        if reader.latest
        else pl.lit(False)
    )
    needed = missing.filter(~older)
    undecided = needed.filter(_undecided(unread))
    return Finding(
        reader=reader,
        seen=seen.height,
        duplicates=int((seen["times"] - 1).sum()),
        older=missing.height - needed.height,
        lost=needed.join(undecided, on=IDENTITY, how="anti"),
        doubt=_doubt(
            reader, taken, undecided, acked.height, nothing_needed=seen.height + needed.height == 0
        ),
    )


def _undecided(unread: Unread) -> pl.Expr:
    """Records that a reader may have seen, or was still to see when the run ended."""
    unplaced = pl.col("offset") < 0
    beyond = unplaced | pl.col("last").is_null() | (pl.col("offset") > pl.col("last"))
    return pl.col("untold") | (unread.rows() & beyond)


def _doubt(
    reader: Reader, taken: Taken, undecided: pl.DataFrame, acked: int, *, nothing_needed: bool
) -> str:
    if nothing_needed:
        return f"{reader.name} began at the latest record and saw none"
    if undecided.is_empty():
        return ""
    untold = undecided.filter("untold").height
    if untold:
        return f"{reader.name} cannot be judged: {taken.why_untold.format(counted(untold, 'acked record'))}"
    return (
        f"the run ended before {reader.name} had seen {undecided.height} of {acked} acked records"
    )


def lost_records(findings: list[Finding], history: History) -> pl.DataFrame:
    """Every lost record: who it was, where it went missing, during which fault it was sent; once
    for each place.
    """
    parts = [
        finding.lost.with_columns(
            reader=pl.lit(finding.reader.name), part=_part(), where=_where(finding.reader.name)
        )
        for finding in findings
    ]
    during = names_during(faults_of(history), start="due", end="acked")
    columns = ["producer", "sequence", "topic", "partition", "offset", "part", "where"]
    return (
        pl.concat(parts)
        .with_columns(during=during)
        .select(*columns, "during")
        .unique(columns, maintain_order=True)
    )


def _part() -> pl.Expr:
    """Which part of the way lost a record: the log, the way from there to the reader, or nobody
    knows which.
    """
    of_known = pl.when(pl.col("in_log")).then(pl.lit(WAY)).otherwise(pl.lit(LOG))
    return pl.when(pl.col("in_log").is_null()).then(pl.lit(EITHER)).otherwise(of_known)


def _where(reader: str) -> pl.Expr:
    """The same for people."""
    texts = {
        LOG: "lost in the log",
        WAY: f"lost on the way to {reader}",
        EITHER: f"never seen by {reader}",
    }
    return _part().replace_strict(texts, return_dtype=pl.String)


def says_of_lost(lost: pl.DataFrame, acked: int, *, alone: bool) -> str:
    """One sentence: how many of how many, which, where, and during what."""
    count = lost.select(IDENTITY).unique().height
    places = []
    for (part, where), records in lost.group_by("part", "where", maintain_order=True):
        plain = (
            alone and part == EITHER
        )  # One reader and no witness: the sentence has said it already.
        places.append(names_of(records) + ("" if plain else f" ({where})"))
    faults = [name for name in lost["during"].unique(maintain_order=True) if name]
    during = f"; sent during {', '.join(faults)}" if faults else ""
    return f"{count} of {acked} acked records {'was' if count == 1 else 'were'} never seen: {', '.join(places)}{during}"


def names_of(records: pl.DataFrame) -> str:
    """Records by name, neighbours as a range: a=2, a=5–9; so many at most."""
    ordered = records.select(IDENTITY).unique().sort(IDENTITY).with_row_index("row")
    runs = ordered.group_by(
        "producer", run=pl.col("sequence") - pl.col("row").cast(pl.Int64), maintain_order=True
    )
    spans = runs.agg(first=pl.col("sequence").first(), last=pl.col("sequence").last()).select(
        "producer", "first", "last"
    )
    shown = [
        f"{producer}={first}" + (f"–{last}" if last > first else "")
        for producer, first, last in spans.head(NAMES_SHOWN).iter_rows()
    ]
    return ", ".join(shown) + (
        f" and {spans.height - NAMES_SHOWN} more" if spans.height > NAMES_SHOWN else ""
    )


def says_of_seen(findings: list[Finding], acked: int) -> str:
    """One sentence for a check that holds."""
    named = len(findings) > 1
    seen = [
        f"{finding.seen} seen" + (f" by {finding.reader.name}" if named else "")
        for finding in findings
    ]
    older = [
        f"{finding.older} older than what {finding.reader.name} began with"
        for finding in findings
        if finding.older
    ]
    duplicates = sum(finding.duplicates for finding in findings)
    allowed = f"; {counted(duplicates, 'duplicate')}, allowed at least once" if duplicates else ""
    return ", ".join([f"{acked} acked", *seen, *older]) + allowed
