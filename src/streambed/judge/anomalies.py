"""The anomalies by number and name; docs/judge.md defines them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Needs = Literal["", "transactions", "transactional reads"]


@dataclass(frozen=True)
class Anomaly:
    """One way in which a log, or what was read of it, can be wrong."""

    number: str
    name: str
    title: str
    """For people: what happened to the records that are counted."""
    counted_only: bool = False
    """Kafka allows it always: it is counted and never fails."""
    needs: Needs = ""
    """Without which it can never be found."""


ANOMALIES = (
    Anomaly("A1", "lost_write", "acknowledged and lost in the log"),
    Anomaly("A2", "unseen", "in the log and never seen by a group"),
    Anomaly("A3", "aborted_read", "failed or aborted and visible all the same"),
    Anomaly("A4", "inconsistent_offset", "two records at one offset"),
    Anomaly("A5", "duplicate", "one record at several offsets"),
    Anomaly("A6", "internal_poll_skip", "skipped within a poll"),
    Anomaly("A7", "internal_nonmonotonic_poll", "out of order within a poll"),
    Anomaly("A8", "poll_skip", "skipped between two polls"),
    Anomaly("A9", "nonmonotonic_poll", "gone back between two polls"),
    Anomaly("A10", "internal_send_skip", "another record inside a transaction", counted_only=True),
    Anomaly(
        "A11",
        "internal_nonmonotonic_send",
        "out of order within a transaction",
        needs="transactions",
    ),
    Anomaly("A12", "nonmonotonic_send", "out of order in the log"),
    Anomaly(
        "A13",
        "precommitted_read",
        "read by the transaction that sent it",
        needs="transactional reads",
    ),
    Anomaly("A14", "write_cycle", "cycles of writes", counted_only=True),
    Anomaly(
        "A15",
        "read_cycle",
        "cycles of transactions that read each other",
        needs="transactional reads",
    ),
    Anomaly("A16", "anti_dependency_cycle", "cycles with missed writes", counted_only=True),
    Anomaly("A17", "hand_over", "hand-overs that skip or go back"),
    Anomaly("A18", "vanished_read", "read, and later gone from the log"),
    Anomaly("A19", "torn_transaction", "transactions visible in part", needs="transactions"),
    Anomaly("A20", "reread", "read again by a group without a hand-over"),
    Anomaly("A21", "phantom", "read and never sent"),
    Anomaly("A22", "diverged_replicas", "batches that differ between brokers"),
    Anomaly("A23", "stuck_reader", "partitions on which readers are stuck"),
)
BY_NUMBER = {anomaly.number: anomaly for anomaly in ANOMALIES}
BY_NAME = {anomaly.name: anomaly for anomaly in ANOMALIES}


def number_of(word: str) -> str | None:
    """The number of an anomaly by its number or name; None if there is none."""
    if word in BY_NUMBER:
        return word
    return BY_NAME[word].number if word in BY_NAME else None
