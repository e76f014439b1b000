"""The engine: all anomalies of one topic."""

from __future__ import annotations

from streambed.judge.anomalies import BY_NUMBER
from streambed.judge.arrays import Topic
from streambed.judge.brokers import diverged_replicas, stuck_readers
from streambed.judge.cycles import cycles
from streambed.judge.findings import Facts, Finding
from streambed.judge.group_reads import rereads, unseen
from streambed.judge.hand_overs import hand_overs
from streambed.judge.places import inconsistent_offsets, vanished_reads
from streambed.judge.polls import poll_orders
from streambed.judge.send_orders import send_orders
from streambed.judge.transactions import precommitted_reads, torn_transactions
from streambed.judge.view import View
from streambed.judge.writes import aborted_reads, duplicates, lost_writes, phantoms


def judge_topic(topic: Topic, facts: Facts) -> list[Finding]:
    """What was found of each anomaly, in order of their numbers."""
    view = View(topic, facts)
    findings = [
        lost_writes(view),
        unseen(view),
        aborted_reads(view),
        inconsistent_offsets(view),
        duplicates(view),
        *poll_orders(view),
        *send_orders(view),
        precommitted_reads(view),
        *cycles(view),
        hand_overs(view),
        vanished_reads(view),
        torn_transactions(view),
        rereads(view),
        phantoms(view),
        diverged_replicas(view),
        stuck_readers(view),
    ]
    assert [finding.anomaly for finding in findings] == list(BY_NUMBER)
    return findings
