"""What is exact in a run: its verdicts, and how many records were lost or seen twice.

A difference in a fact is a real difference, never chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streambed.kinds.checks import NoLoss
from streambed.record.fidelity import Fidelity
from streambed.record.history import History, Verdict
from streambed.results.runs import Run

UNCHECKED = "not checked"
UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One fact of two runs."""

    name: str
    a: str
    b: str
    says: str
    """Both values in one sentence."""
    reasons: tuple[str, str] = ("", "")
    """Why A and B have these values, where a reason is known."""

    @property
    def differs(self) -> bool:
        """Whether the runs differ in it."""
        return self.a != self.b


def verdict_facts(a: Run, b: Run) -> list[Fact]:
    """The verdicts of both runs, and whether the network of each was faithful."""
    first, second = _verdicts(a), _verdicts(b)
    names = dict.fromkeys([*first, *second])
    facts = [_verdict_fact(name, first, second) for name in names]
    return [*facts, _fidelity_fact(a.fidelity(), b.fidelity())]


def _fidelity_fact(a: Fidelity, b: Fidelity) -> Fact:
    first, second = ["BELIEVED" if run.believable else "DOUBTFUL" for run in (a, b)]
    return Fact(
        name="fidelity",
        a=first,
        b=second,
        says=f"A is {first.lower()}, B is {second.lower()}",
        reasons=(a.says, b.says),
    )


def _verdicts(run: Run) -> dict[str, Verdict]:
    """The verdicts without secrets, by name; by kind alone if the run declares other checks."""
    verdicts = run.verdicts()
    if verdicts and len(verdicts) != len(run.checks()):
        by_name = {verdict.check: verdict for verdict in verdicts}
    else:
        by_name = run.named_verdicts()
    return dict(zip(by_name, run.mask.verdicts(by_name.values()), strict=True))


def _verdict_fact(name: str, first: Mapping[str, Verdict], second: Mapping[str, Verdict]) -> Fact:
    answers, reasons = [], []
    for verdicts in (first, second):
        verdict = verdicts.get(name)
        answers.append(verdict.answer.upper() if verdict else UNCHECKED)
        reasons.append(verdict.says if verdict else "")
    a, b = answers
    return Fact(
        name=name,
        a=a,
        b=b,
        says=f"{name} {a} in A, {b} in B",
        reasons=(reasons[0], reasons[1]),
    )


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many acknowledged records of a topic were lost or duplicated in one run."""

    acked: int
    lost: int | None
    """None if that is unknown."""
    duplicates: dict[str, int]
    """Duplicates by reader."""


def counts_of(history: History, topic: str) -> Counts | None:
    """The counts of a topic; None if no reader of it can be judged."""
    delivery = NoLoss(topic=topic).delivery(history)
    if not delivery.findings:
        return None
    lost = delivery.lost.height
    return Counts(
        acked=delivery.acked,
        lost=None if delivery.unknown and not lost else lost,
        duplicates={finding.reader.name: finding.duplicates for finding in delivery.findings},
    )


def count_facts(a: History, b: History, topics: list[str]) -> Iterator[Fact]:
    """Acknowledged, lost and duplicate records of topics that both runs have."""
    for topic in topics:
        first, second = counts_of(a, topic), counts_of(b, topic)
        if first and second:
            yield from _count_facts(topic, first, second)


def _count_facts(topic: str, a: Counts, b: Counts) -> Iterator[Fact]:
    yield Fact(
        name=f"acknowledged records of {topic}",
        a=str(a.acked),
        b=str(b.acked),
        says=f"{a.acked} records of {topic} were acknowledged in A, {b.acked} in B",
    )
    a_lost = _lost_text(a)
    b_lost = _lost_text(b)
    yield Fact(
        name=f"lost records of {topic}",
        a=a_lost,
        b=b_lost,
        says=f"A lost {a_lost} of {a.acked} acknowledged records of {topic}, "
        f"B lost {b_lost} of {b.acked}",
    )
    for reader, a_count in a.duplicates.items():
        if reader not in b.duplicates:
            continue
        b_count = b.duplicates[reader]
        yield Fact(
            name=f"duplicates of {topic} seen by {reader}",
            a=str(a_count),
            b=str(b_count),
            says=f"{reader} saw {a_count} duplicates of {topic} in A, {b_count} in B",
        )


def _lost_text(counts: Counts) -> str:
    return UNKNOWN if counts.lost is None else str(counts.lost)
