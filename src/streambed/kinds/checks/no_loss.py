"""No loss: every reader of a topic sees each record of it that was acknowledged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from streambed.errors import Problem, suggestion
from streambed.judge import reading
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.course import (
    IDENTITY,
    Taken,
    Unread,
    deposed_leaders,
    faults_of,
    load_ended,
    names_before,
    names_during,
)
from streambed.kinds.evidence.readers import (
    Reader,
    hands_in,
    readers_of,
    times_seen,
    without_ledger,
    witness_of,
)
from streambed.record.history import Answer, History, Verdict, empty
from streambed.record.ledger import schemas
from streambed.units import count_of

NAMES_SHOWN = 20
LOG, WAY, EITHER = "log", "way", "either"
"""Where a record was lost: in the log, between log and reader, or in one of the two."""


@declared
class NoLoss(MayFail):
    """Every acked record of `topic` is seen by each of its readers: consumer groups and jobs.

    Seeing a record twice is allowed. A group that starts at the latest offset need not see records
    before the first one it saw. A job has seen what its engine reports: for Spark, the offsets of
    its batches.
    """

    kind: Literal["no_loss"] = "no_loss"
    topic: str
    by: tuple[str, ...] = ()
    """The groups, consumers, sinks or jobs that must see everything; default: all readers."""

    @property
    def about(self) -> str:
        """The topic: verdicts are named no_loss:TOPIC."""
        return self.topic

    def problems(self, components: Components) -> list[Problem]:
        """The topic must be declared, and those named in `by` must read it."""
        brokers = [component.as_broker for component in components.values() if component.as_broker]
        topics = [topic for broker in brokers for topic in broker.partitions]
        problems = []
        if self.topic not in topics:
            says = f"no topic '{self.topic}'. {suggestion(self.topic, topics)}"
            problems.append(Problem(key="topic", says=says))
        readers = self._declared_readers(components)
        for name in self.by:
            if name not in readers:
                says = f"'{name}' does not read {self.topic}. {suggestion(name, readers)}"
                problems.append(Problem(key="by", says=says, about=frozenset({name})))
        return problems

    def _declared_readers(self, components: Components) -> list[str]:
        """Every name that `by` may hold: of components, and of their groups."""
        names = []
        for name, component in components.items():
            for reader in component.readers:
                if self.topic in reader.topics:
                    names += [name, reader.name]
        return list(dict.fromkeys(names))

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """The topic: only a read-back tells what the log lost from what a reader missed."""
        return (self.topic,)

    def judge(self, history: History) -> Verdict:
        """Compare what was acked with what each reader saw."""
        delivery = self.delivery(history)
        if not delivery.findings:
            return self._verdict("unknown", delivery.unknown)
        return self._verdict_of(delivery, history)

    def delivery(self, history: History) -> Delivery:
        """What each reader saw of the acked records, before it is put into words."""
        if load_ended(history) and not without_ledger(history, self.topic):
            findings = self._everything_seen(history)
            if findings:
                return Delivery(acked=findings[0].seen, findings=tuple(findings))
        acked = acked_records(history, self.topic)
        readers = self._readers(history)
        unknown = self._why_unknown(history, acked, readers)
        if unknown:
            return Delivery(unknown=unknown)
        findings = [finding_of(history, reader, self.topic, acked) for reader in readers]
        doubts = [finding.doubt for finding in findings if finding.doubt]
        return Delivery(acked=acked.height, findings=tuple(findings), unknown="; ".join(doubts))

    def _everything_seen(self, history: History) -> list[Finding]:
        """The findings, if every reader is a group and saw all acked records; else none.

        Counting needs no names. Names are looked up only if something is missing.
        """
        topic = reading.topic_of(history.ledger, self.topic)
        acked = int(topic.acked.sum())
        readers = self._readers(history)
        present = {name for reader in readers for name in (reader.name, *reader.components)}
        if not acked or not present.issuperset(self.by):
            return []
        findings = []
        for reader in readers:
            reads = topic.reads.get(reader.name)
            if reader.evidence or reader.hands_in or reads is None:
                return []
            times = topic.counts(reads.record)[: len(topic.sends)][topic.acked]
            if not times.all():
                return []
            findings.append(
                Finding(
                    reader=reader,
                    seen=acked,
                    duplicates=int(times.sum()) - acked,
                    older=0,
                    lost=_nothing_lost(),
                    doubt="",
                )
            )
        return findings

    def _why_unknown(self, history: History, acked: pl.DataFrame, readers: list[Reader]) -> str:
        """Why nothing can be judged; empty if it can."""
        if not load_ended(history):
            return "the run broke before the load ended"
        silent = without_ledger(history, self.topic)
        if silent:
            return f"{', '.join(silent)} kept no ledger of {self.topic}"
        if acked.is_empty():
            return f"nothing was acked on {self.topic}"
        present = {name for reader in readers for name in (reader.name, *reader.components)}
        absent = [name for name in self.by if name not in present]
        if absent:
            return f"nothing in this run is called {', '.join(absent)} and reads {self.topic}"
        if not readers:
            return f"no component reads {self.topic}, and no witness read it back"
        return ""

    def _readers(self, history: History) -> list[Reader]:
        readers = readers_of(history, self.topic)
        wanted = set(self.by)
        if wanted:
            return [reader for reader in readers if wanted & {reader.name, *reader.components}]
        if readers:
            return readers
        witness = witness_of(history, self.topic)
        return [witness] if witness else []

    def _verdict_of(self, delivery: Delivery, history: History) -> Verdict:
        acked, findings = delivery.acked, delivery.findings
        lost = lost_records(findings, history)
        seen = {
            finding.reader.name: {"seen": finding.seen, "duplicates": finding.duplicates}
            for finding in findings
        }
        evidence = {"acked": acked, "readers": seen, "lost": lost.to_dicts()}
        if not lost.is_empty():
            says = says_of_lost(lost, acked, alone=len(findings) == 1)
            count = delivery.lost.height
            brief = f"{count:,} of {acked:,} acknowledged records of {self.topic} lost"
            return self._verdict("fails", says, evidence, brief)
        if delivery.unknown:
            return self._verdict("unknown", delivery.unknown, evidence)
        brief = f"no record of {self.topic} lost"
        return self._verdict("holds", says_of_seen(findings, acked), evidence, brief)

    def _verdict(
        self, answer: Answer, says: str, evidence: dict[str, Any] | None = None, brief: str = ""
    ) -> Verdict:
        return Verdict(
            check=self.kind,
            answer=answer,
            says=says,
            evidence=evidence or {},
            brief=brief or f"{self.topic}: {says}",
        )


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one reader saw of the acked records.

    `older` records precede a latest start, `lost` ones were certainly not seen; `doubt` says why
    the rest is unknown.
    """

    reader: Reader
    seen: int
    duplicates: int
    older: int
    lost: pl.DataFrame
    doubt: str


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """What became of the acked records of a topic."""

    acked: int = 0
    findings: tuple[Finding, ...] = ()
    """One for each reader; empty if nothing can be judged."""
    unknown: str = ""
    """Why it is unknown whether more was lost than `lost`; empty if it is known."""

    @property
    def lost(self) -> pl.DataFrame:
        """The producer and sequence of each record that a reader certainly did not see."""
        parts = [finding.lost.select(IDENTITY) for finding in self.findings]
        return pl.concat(parts or [_nothing_lost().select(IDENTITY)]).unique()


def _nothing_lost() -> pl.DataFrame:
    names = ["producer", "sequence", "topic", "partition", "offset", "due", "acked"]
    return empty(schemas.SENT).select(names).with_columns(in_log=pl.lit(None, dtype=pl.Boolean))


def acked_records(history: History, topic: str) -> pl.DataFrame:
    """The acked records of a topic. `in_log`: whether the witness found it; null without one."""
    sent = history.ledger.sent.filter((pl.col("topic") == topic) & pl.col("acked").is_not_null())
    acked = sent.select("producer", "sequence", "topic", "partition", "offset", "due", "acked")
    witness = witness_of(history, topic)
    if not witness:
        return acked.with_columns(in_log=pl.lit(None, dtype=pl.Boolean))
    found = times_seen(history, witness, topic, acked).times > 0
    # Records of a user's program may carry no identity: the witness then cannot find them.
    known = set(acked.filter(found)["producer"])
    producers = acked["producer"].unique()
    untold = [name for name in producers if name not in known and hands_in(history, name)]
    in_log = pl.when(~pl.col("producer").is_in(untold)).then(found)
    return acked.with_columns(in_log=in_log)


def finding_of(history: History, reader: Reader, topic: str, acked: pl.DataFrame) -> Finding:
    """Sort the acked records into seen, lost and undecided for one reader."""
    taken = times_seen(history, reader, topic, acked)
    unread = reader.unread(history, topic) if taken.evident else Unread(everything=True)
    records = acked.with_columns(times=taken.times, untold=taken.untold)
    seen = records.filter(pl.col("times") > 0)
    ends = seen.group_by("partition").agg(began=pl.col("offset").min(), last=pl.col("offset").max())
    missing = records.filter(pl.col("times") == 0).join(ends, on="partition", how="left")
    needed = missing
    if reader.latest:
        needed = missing.filter(pl.col("offset") >= pl.col("began"))
    undecided = needed.filter(_undecided_records(unread))
    nothing_needed = seen.height + needed.height == 0
    return Finding(
        reader=reader,
        seen=seen.height,
        duplicates=int((seen["times"] - 1).sum()),
        older=missing.height - needed.height,
        lost=needed.join(undecided, on=IDENTITY, how="anti"),
        doubt=_doubt(reader, taken, undecided, acked.height, nothing_needed=nothing_needed),
    )


def _undecided_records(unread: Unread) -> pl.Expr:
    """Records that a reader may have seen, or had yet to see when the run ended."""
    no_offset = pl.col("offset") < 0
    beyond = no_offset | pl.col("last").is_null() | (pl.col("offset") > pl.col("last"))
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
        why = taken.why_untold.format(count_of(untold, "acked record"))
        return f"{reader.name} cannot be judged: {why}"
    return (
        f"the run ended before {reader.name} had seen {undecided.height} of {acked} acked records"
    )


def lost_records(findings: Sequence[Finding], history: History) -> pl.DataFrame:
    """Every lost record: where it was lost, and during or just before which fault it was sent.

    `before` names a fault that began shortly after the record was acked, if the log lost the record
    and its leader lost the lead by that fault. `during` names that fault, too. A record that
    several readers missed has a row for each of them, unless the log lost it.
    """
    parts = []
    for finding in findings:
        reader = finding.reader.name
        parts.append(finding.lost.with_columns(part=_part(), where=_part_text(reader)))
    columns = ["producer", "sequence", "topic", "partition", "offset", "part", "where"]
    lost = pl.concat(parts)
    lost = lost.with_columns(
        during=names_during(faults_of(history), start="due", end="acked"),
        before=_before(lost, history),
    )
    during = pl.when(pl.col("during") == "").then("before").otherwise("during")
    lost = lost.with_columns(during=during).select(*columns, "during", "before")
    return lost.unique(columns, maintain_order=True)


def _before(lost: pl.DataFrame, history: History) -> pl.Expr:
    """The fault that cost the log a record acked just before it; empty if it was sent during one,
    or was not lost in the log.
    """
    deposed = [one for topic in lost["topic"].unique() for one in deposed_leaders(history, topic)]
    sent_during = names_during(faults_of(history), start="due", end="acked") != ""
    told = (pl.col("part") == LOG) & ~sent_during
    return pl.when(told).then(names_before(deposed)).otherwise(pl.lit(""))


def _part() -> pl.Expr:
    """LOG, WAY or EITHER, by whether the witness found the record in the log."""
    if_known = pl.when(pl.col("in_log")).then(pl.lit(WAY)).otherwise(pl.lit(LOG))
    return pl.when(pl.col("in_log").is_null()).then(pl.lit(EITHER)).otherwise(if_known)


def _part_text(reader: str) -> pl.Expr:
    texts = {
        LOG: "lost in the log",
        WAY: f"lost on the way to {reader}",
        EITHER: f"never seen by {reader}",
    }
    return _part().replace_strict(texts, return_dtype=pl.String)


def says_of_lost(lost: pl.DataFrame, acked: int, *, alone: bool) -> str:
    """One sentence: how many records, which, where they were lost, and during which faults."""
    losses = []
    for (part, where), records in lost.group_by("part", "where", maintain_order=True):
        # With one reader and no witness, "never seen" says it all.
        suffix = "" if alone and part == EITHER else f" ({where})"
        losses.append(names_of(records) + suffix)
    during = _faults_text(lost)
    count = lost.select(IDENTITY).unique().height
    verb = "was" if count == 1 else "were"
    return f"{count} of {acked} acked records {verb} never seen: {', '.join(losses)}{during}"


def _faults_text(lost: pl.DataFrame) -> str:
    """Whether the lost records were sent during faults, or acked just before one."""
    sent_during = lost.filter(pl.col("before") == "")["during"].unique(maintain_order=True)
    before = lost["before"].unique(maintain_order=True)
    parts = []
    if names := ", ".join(name for name in sent_during if name):
        parts.append(f"sent during {names}")
    if names := ", ".join(name for name in before if name):
        parts.append(f"acked just before {names}")
    return f"; {' or '.join(parts)}" if parts else ""


def names_of(records: pl.DataFrame) -> str:
    """Records by name, neighbours as a range: a=2, a=5–9. At most NAMES_SHOWN ranges."""
    ordered = records.select(IDENTITY).unique().sort(IDENTITY).with_row_index("row")
    # Within a run of neighbours, sequence and row number grow together.
    run = pl.col("sequence") - pl.col("row").cast(pl.Int64)
    runs = ordered.group_by("producer", run=run, maintain_order=True)
    spans = runs.agg(first=pl.col("sequence").first(), last=pl.col("sequence").last())
    names = []
    for producer, _, first, last in spans.head(NAMES_SHOWN).iter_rows():
        names.append(f"{producer}={first}–{last}" if last > first else f"{producer}={first}")
    more = spans.height - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def says_of_seen(findings: Sequence[Finding], acked: int) -> str:
    """One sentence for a check that holds."""
    seen, older = [], []
    for finding in findings:
        by = f" by {finding.reader.name}" if len(findings) > 1 else ""
        seen.append(f"{finding.seen} seen{by}")
        if finding.older:
            older.append(f"{finding.older} older than what {finding.reader.name} began with")
    duplicates = sum(finding.duplicates for finding in findings)
    allowed = f"; {count_of(duplicates, 'duplicate')}, allowed at least once" if duplicates else ""
    return ", ".join([f"{acked} acked", *seen, *older]) + allowed
