"""The order of a producer's records in the log, within and between transactions."""

from __future__ import annotations

import numpy as np

from streambed.judge.columns import NONE, Bools, Int64s
from streambed.judge.findings import SHOWN, Evidence, Finding
from streambed.judge.view import View, partition_of, stable_order

TEXTS = {
    "A10": "{record} at {place} follows {other} at {other_place} with other records between",
    "A11": "{record} at {place} was sent after {other} at {other_place} in one transaction",
    "A12": "{record} at {place} was sent after {other} at {other_place}",
}


def send_orders(view: View) -> list[Finding]:
    """A10 to A12: neighbours among the records that one life sent to one partition."""
    place = view.written_place
    records = np.flatnonzero(place >= 0)
    keys = _life_and_partition(view, records, place[records])
    order = stable_order(keys)
    records, keys = records[order], keys[order]
    before, after = records[:-1], records[1:]
    same = keys[1:] == keys[:-1]
    transaction = view.sends.transaction
    together = same & (transaction[after] >= 0) & (transaction[after] == transaction[before])
    falls = place[after] <= place[before]
    rises = together & ~falls
    masks = {
        "A10": rises & _apart(view, place, before, after, rises),
        "A11": together & falls,
        "A12": same & ~together & falls,
    }
    return [_finding(name, before[mask], after[mask], place) for name, mask in masks.items()]


def _life_and_partition(view: View, records: Int64s, place: Int64s) -> Int64s:
    partition = partition_of(place)
    lives = view.sends.life[records].astype(np.int64)
    partitions = int(partition.max()) + 1 if len(records) else 1
    life_count = int(lives.max()) + 1 if len(records) else 1
    key = view.sends.producer[records].astype(np.int64)
    return (key * life_count + lives) * partitions + partition


def _apart(view: View, place: Int64s, before: Int64s, after: Int64s, asked: Bools) -> Bools:
    """Whether the log has other records between two of one transaction."""
    apart = np.zeros(len(after), bool)
    if not asked.any():
        return apart
    log = (view.inferred if view.committed is None else view.committed).distinct
    one, two = log.index_of(place[before[asked]]), log.index_of(place[after[asked]])
    apart[asked] = (one != NONE) & (two != NONE) & (two - one > 1)
    return apart


def _finding(name: str, before: Int64s, after: Int64s, place: Int64s) -> Finding:
    evidence = tuple(
        Evidence(
            text=TEXTS[name],
            record=int(two),
            place=int(place[two]),
            other=int(one),
            other_place=int(place[one]),
        )
        for one, two in zip(before[:SHOWN], after[:SHOWN], strict=True)
    )
    return Finding(anomaly=name, count=len(after), records=after, evidence=evidence)
