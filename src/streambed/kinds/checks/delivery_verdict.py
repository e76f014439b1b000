"""The verdict on how often records reached a target: at least, at most or exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from streambed.kinds.checks.delivered import Delivered
from streambed.kinds.checks.no_loss import NAMES_SHOWN, names_of
from streambed.kinds.evidence.course import load_ended
from streambed.kinds.evidence.outputs.deleted import deleted_without_ledger
from streambed.kinds.evidence.outputs.delivery import (
    Delivery,
    NothingKnown,
    older_than_start,
    undecided_inputs,
)
from streambed.kinds.evidence.outputs.input_log import InputLog, Numbers, input_log
from streambed.kinds.evidence.readers import without_ledger
from streambed.record.history import Answer, History, Verdict
from streambed.units import count_of

OFFENDERS_KEPT = 10_000
"""How many offending records a verdict lists as evidence."""


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What is promised of each record: that it arrives, that it does so no more than once."""

    arrives: bool
    only_once: bool


AT_LEAST_ONCE = Promise(arrives=True, only_once=False)
AT_MOST_ONCE = Promise(arrives=False, only_once=True)
EXACTLY_ONCE = Promise(arrives=True, only_once=True)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The inputs of a log, sorted by what became of them, as indexes."""

    missing: Numbers
    doubled: Numbers
    undecided: Numbers
    required: int


def judge_delivery(check: Delivered, history: History, promise: Promise) -> Verdict:
    """Compare how often each record reached the target with what is promised."""
    if not load_ended(history):
        return _verdict(check, "unknown", "the run broke before the load ended")
    if silent := silent_clients(check, history):
        return _verdict(check, "unknown", f"{', '.join(silent)} kept no ledger of {check.topic}")
    log = input_log(history, check.topic)
    if log is None or not len(log):
        return _verdict(check, "unknown", f"{check.topic} was not read back, or holds nothing")
    try:
        delivery = check.delivery(history, log)
        untold = deleted_without_ledger(history, check.topic)
        counts = _counts(check, history, log, delivery)
    except NothingKnown as error:
        return _verdict(check, "unknown", str(error))
    return _verdict_of(check, promise, log, delivery, counts, untold=untold)


def silent_clients(check: Delivered, history: History) -> list[str]:
    """The reader that a check is about, if it kept no ledger. A store needs none: it has rows."""
    named = {check.to}
    for name, component in history.components.items():
        if any(check.to == reader.name for reader in component.readers):
            named.add(name)
    return [name for name in without_ledger(history, check.topic) if name in named]


def _counts(check: Delivered, history: History, log: InputLog, delivery: Delivery) -> Counts:
    reader = check.reader(history)
    times, expected = delivery.times, delivery.expected
    open_ones = undecided_inputs(history, log, reader, times)
    needed = (expected > 0) & ~older_than_start(log, reader, times)
    return Counts(
        missing=np.flatnonzero((times == 0) & needed & ~open_ones),
        doubled=np.flatnonzero(times > np.maximum(expected, 1)),
        undecided=np.flatnonzero(open_ones & needed),
        required=int(needed.sum()),
    )


def _verdict_of(
    check: Delivered,
    promise: Promise,
    log: InputLog,
    delivery: Delivery,
    counts: Counts,
    *,
    untold: bool,
) -> Verdict:
    evidence = _evidence(log, delivery, counts)
    wrong = _wrong(check, promise, log, delivery, counts)
    if wrong:
        says = f"{'; '.join(wrong)} (by {delivery.how})"
        return _verdict(check, "fails", says, evidence, _brief(check, promise, counts, delivery))
    doubts = _doubts(check, promise, delivery, counts)
    if untold and promise.arrives:
        doubts.append(f"records of {check.topic} were deleted that are in no ledger")
    if doubts:
        return _verdict(check, "unknown", "; ".join(doubts), evidence)
    says = _says_of_all(check, promise, delivery, counts)
    brief = f"{check.topic} reached {check.to} {check.kind.replace('_', ' ')}"
    return _verdict(check, "holds", says, evidence, brief)


def _wrong(
    check: Delivered, promise: Promise, log: InputLog, delivery: Delivery, counts: Counts
) -> list[str]:
    """What certainly breaks the promise. An output without a name may be of a missing record."""
    wrong = []
    if promise.arrives and len(counts.missing) and not delivery.unnamed:
        wrong.append(_says_of_missing(check, log, counts))
    if promise.only_once and len(counts.doubled):
        most = int(delivery.times[counts.doubled].max())
        wrong.append(
            f"{count_of(len(counts.doubled), 'record')} of {check.topic} reached {check.to} more "
            f"than once, up to {most} times: {names_at(log, counts.doubled)}"
        )
    if promise.arrives and promise.only_once and delivery.absent:
        outputs = count_of(delivery.absent, "output")
        verb = "names" if delivery.absent == 1 else "name"
        wrong.append(f"{outputs} of {check.to} {verb} a record that {check.topic} does not have")
    return wrong


def _says_of_missing(check: Delivered, log: InputLog, counts: Counts) -> str:
    verb = "is" if len(counts.missing) == 1 else "are"
    share = f"{len(counts.missing)} of {counts.required} records"
    names = names_at(log, counts.missing)
    return f"{share} of {check.topic} {verb} not in {check.to}: {names}"


def _doubts(check: Delivered, promise: Promise, delivery: Delivery, counts: Counts) -> list[str]:
    """Why it is unknown whether the promise was kept."""
    doubts = []
    if promise.only_once and delivery.unsure:
        doubts.append(f"{delivery.unsure}; give `identity` and a target that names its inputs")
    if delivery.unnamed and (promise.only_once or len(counts.missing)):
        verb = "names" if delivery.unnamed == 1 else "name"
        doubts.append(f"{count_of(delivery.unnamed, 'output')} of {check.to} {verb} no record")
    if promise.arrives and len(counts.undecided):
        count = f"{len(counts.undecided)} of {counts.required}"
        doubts.append(f"the run ended before {count} records could reach {check.to}")
    if not delivery.times.any():
        doubts.append(f"nothing of {check.topic} reached {check.to}")
    return doubts


def _says_of_all(check: Delivered, promise: Promise, delivery: Delivery, counts: Counts) -> str:
    says = f"{counts.required} records of {check.topic}, {int(delivery.times.sum())} in {check.to}"
    extra = len(counts.doubled) if promise.arrives and not promise.only_once else 0
    if extra:
        says += f"; {extra} of them more than once, allowed"
    if not promise.arrives and len(counts.missing):
        says += f"; {len(counts.missing)} are missing, allowed"
    return f"{says} (by {delivery.how})"


def _brief(check: Delivered, promise: Promise, counts: Counts, delivery: Delivery) -> str:
    parts = []
    if promise.arrives and len(counts.missing):
        parts.append(f"{len(counts.missing):,} missing")
    if promise.only_once and len(counts.doubled):
        parts.append(f"{len(counts.doubled):,} doubled")
    if not parts:
        parts.append(f"{delivery.absent:,} without an input")
    return f"{check.topic} to {check.to}: {', '.join(parts)}"


def _evidence(log: InputLog, delivery: Delivery, counts: Counts) -> dict[str, Any]:
    return {
        "records": counts.required,
        "outputs": int(delivery.times.sum()) + delivery.absent + delivery.unnamed,
        "by": delivery.how,
        "missing": len(counts.missing),
        "doubled": len(counts.doubled),
        "undecided": len(counts.undecided),
        "absent": delivery.absent,
        "unnamed": delivery.unnamed,
        "missing_records": log.names(counts.missing[:OFFENDERS_KEPT]).to_dicts(),
        "doubled_records": log.names(counts.doubled[:OFFENDERS_KEPT]).to_dicts(),
    }


def names_at(log: InputLog, index: Numbers) -> str:
    """Records by name; by their place if they have none."""
    names = log.names(index)
    named = names.drop_nulls("producer")
    parts = [names_of(named)] if named.height else []
    unnamed = names.filter(pl.col("producer").is_null())
    for partition, offset in unnamed.head(NAMES_SHOWN).select("partition", "offset").iter_rows():
        parts.append(f"{log.topic}/{partition} offset {offset}")
    if unnamed.height > NAMES_SHOWN:
        parts.append(f"{unnamed.height - NAMES_SHOWN} more")
    return ", ".join(parts)


def _verdict(
    check: Delivered,
    answer: Answer,
    says: str,
    evidence: dict[str, Any] | None = None,
    brief: str = "",
) -> Verdict:
    return Verdict(
        check=check.kind,
        answer=answer,
        says=says,
        evidence=evidence or {},
        brief=brief or f"{check.topic} to {check.to}: {says}",
    )
