"""Transactions: read by themselves, and visible in part."""

from __future__ import annotations

import numpy as np

from streambed.judge.columns import NONE
from streambed.judge.findings import SHOWN, Evidence, Finding
from streambed.judge.view import View
from streambed.judge.writes import NO_READ_BACK
from streambed.record.ledger.schemas import Outcome


def precommitted_reads(view: View) -> Finding:
    """A13: a transaction polls a record that it sent itself."""
    records, evidence = [], []
    for group, reads in view.topic.reads.items():
        rows = np.flatnonzero(
            (reads.transaction >= 0) & (reads.record >= 0) & (reads.record < len(view.sends))
        )
        own = view.sends.transaction[reads.record[rows]] == reads.transaction[rows]
        rows = rows[own]
        records.append(reads.record[rows].astype(np.int64))
        evidence += [
            Evidence(
                text="{record} at {place} was read by the transaction that sent it",
                record=int(reads.record[row]),
                place=int(reads.place[row]),
                group=group,
                end=int(reads.time[row]),
            )
            for row in rows[:SHOWN]
        ]
    offenders = np.concatenate(records) if records else np.empty(0, np.int64)
    return Finding(
        anomaly="A13", count=len(offenders), records=offenders, evidence=tuple(evidence[:SHOWN])
    )


def torn_transactions(view: View) -> Finding:
    """A19: the log shows some records of a transaction and not the others."""
    count = len(view.topic.transactions)
    if not count:
        return Finding(anomaly="A19")
    if view.committed is None:
        return Finding(anomaly="A19", missing=NO_READ_BACK)
    if view.facts.compacted:
        return Finding(anomaly="A19", not_judged="a compacted topic keeps the last record of a key")
    sends = view.sends
    part = (sends.transaction >= 0) & (sends.outcome != Outcome.NOT_WRITTEN)
    part &= ~view.below_start(sends.place)
    whole = np.bincount(sends.transaction[part], minlength=count)
    shown = part & (view.in_log > 0)
    visible = np.bincount(sends.transaction[shown], minlength=count)
    torn = np.flatnonzero((visible > 0) & (visible < whole))
    if not len(torn):
        return Finding(anomaly="A19")
    evidence = []
    for transaction in torn[:SHOWN]:
        share = f"{visible[transaction]} of {whole[transaction]}"
        inside = np.flatnonzero(shown & (sends.transaction == transaction))
        outside = np.flatnonzero(part & ~shown & (sends.transaction == transaction))
        evidence.append(_evidence_of_torn(view, share, int(inside[0]), int(outside[0])))
    records = np.flatnonzero(part & np.isin(sends.transaction, torn))
    return Finding(anomaly="A19", count=len(torn), records=records, evidence=tuple(evidence))


def _evidence_of_torn(view: View, share: str, inside: int, outside: int) -> Evidence:
    return Evidence(
        text=f"{share} records of a transaction are in the log: {{record}} is, {{other}} is not",
        record=inside,
        other=outside,
        place=int(view.sends.place[inside]),
        other_place=int(view.sends.place[outside]),
    )


def client_of(view: View, transaction: int) -> str:
    """The name of the client of a transaction, its life and its number: poet.1/17."""
    table = view.topic.transactions
    if transaction == NONE:
        return "no transaction"
    client = view.topic.clients.words[table.client[transaction]]
    return f"{client}.{table.life[transaction]}/{table.number[transaction]}"
