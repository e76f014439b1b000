"""Transactions: read by themselves, and visible in part."""

from __future__ import annotations

import numpy as np

from streambed.judge.arrays import Reads
from streambed.judge.columns import NONE, Bools, Int64s
from streambed.judge.findings import SHOWN, Evidence, Finding
from streambed.judge.view import View
from streambed.judge.writes import NO_READ_BACK
from streambed.record.ledger.schemas import Outcome

NO_READS_IN_TRANSACTIONS = "no client read inside a transaction"


def precommitted_reads(view: View) -> Finding:
    """A13: a transaction polls a record that it sent itself."""
    if not view.reads_in_transactions:
        return Finding(anomaly="A13", not_judged=NO_READS_IN_TRANSACTIONS)
    records: list[Int64s] = []
    evidence: list[Evidence] = []
    for group, reads in view.reads.items():
        of_producer = (reads.record >= 0) & (reads.record < len(view.sends))
        rows = np.flatnonzero(of_producer & (reads.transaction >= 0))
        sent_in = view.sends.transaction[reads.record[rows]]
        rows = rows[sent_in == reads.transaction[rows]]
        records.append(reads.record[rows].astype(np.int64))
        evidence += _evidence_of_precommitted(group, reads, rows)
    offenders = np.concatenate(records) if records else np.empty(0, np.int64)
    return Finding(
        anomaly="A13", count=len(offenders), records=offenders, evidence=tuple(evidence[:SHOWN])
    )


def _evidence_of_precommitted(group: str, reads: Reads, rows: Int64s) -> list[Evidence]:
    return [
        Evidence(
            text="{record} at {place} was read by the transaction that sent it",
            record=int(reads.record[row]),
            place=int(reads.place[row]),
            group=group,
            end=int(reads.time[row]),
        )
        for row in rows[:SHOWN]
    ]


def torn_transactions(view: View) -> Finding:
    """A19: the log shows some records of a transaction and not the others."""
    count = len(view.topic.transactions)
    if not count:
        return Finding(anomaly="A19")
    if view.facts.compacted:
        return Finding(anomaly="A19", not_judged="a compacted topic keeps the last record of a key")
    if view.committed is None:
        return Finding(anomaly="A19", missing=NO_READ_BACK)
    transaction = view.sends.transaction
    part = (transaction >= 0) & (view.sends.outcome != Outcome.NOT_WRITTEN)
    part &= ~view.below_start(view.sends.place)
    shown = part & (view.in_log > 0)
    whole = np.bincount(transaction[part], minlength=count)
    visible = np.bincount(transaction[shown], minlength=count)
    if view.elsewhere.lost or view.elsewhere.visible.any():
        whole = whole + view.elsewhere.whole
        visible = visible + view.elsewhere.visible
    torn = np.flatnonzero((visible > 0) & (visible < whole))
    if not len(torn):
        return Finding(anomaly="A19")
    evidence = []
    for number in torn[:SHOWN].tolist():
        share = f"{visible[number]} of {whole[number]}"
        evidence.append(_torn(view, number, part, shown, share))
    records = np.flatnonzero(part & np.isin(transaction, torn))
    return Finding(anomaly="A19", count=len(torn), records=records, evidence=tuple(evidence))


def _torn(view: View, transaction: int, part: Bools, shown: Bools, share: str) -> Evidence:
    """A record of a transaction that is in its log, and one that is not."""
    own = part & (view.sends.transaction == transaction)
    inside, outside = np.flatnonzero(own & shown), np.flatnonzero(own & ~shown)
    record = int(inside[0]) if len(inside) else int(outside[0])
    place = int(view.sends.place[record])
    text = f"{share} records of a transaction are in the log"
    if len(inside) and len(outside):
        return Evidence(
            text=f"{text}: {{record}} is, {{other}} is not",
            record=record,
            other=int(outside[0]),
            place=place,
            other_place=int(view.sends.place[outside[0]]),
        )
    if len(outside):
        return Evidence(text=f"{text}: {{record}} is not", record=record, place=place)
    lost = view.elsewhere.lost[transaction]
    return Evidence(text=f"{text}: {{record}} is, {lost} is not", record=record, place=place)


def client_of(view: View, transaction: int) -> str:
    """The name of the client of a transaction, its life and its number: poet.1/17."""
    table = view.topic.transactions
    if transaction == NONE:
        return "no transaction"
    client = view.topic.clients.words[table.client[transaction]]
    return f"{client}.{table.life[transaction]}/{table.number[transaction]}"
