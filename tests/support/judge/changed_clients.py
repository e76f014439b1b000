"""Changes of polls, tenures, transactions and of what brokers hold."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from streambed.plan import READ_BACKS
from tests.support.judge.ledger_rows import (
    Row,
    identity,
    log_rows,
    place,
    polls,
    read_rows,
    remove,
    tenure_of,
    visible_sends,
)
from tests.support.judge.stories import Story


def skip_within_a_poll(run: Story, random: Random) -> bool:
    long = [poll for poll in polls(run) if len(poll) > 2]
    if not long:
        return False
    remove(run, random.choice(random.choice(long)[1:-1]))
    return True


def skip_between_polls(run: Story, random: Random) -> bool:
    """A poll of several records, which is not the first one of its tenure, loses its first."""
    begun: set[tuple[Any, ...]] = set()
    later = []
    for poll in polls(run):
        if tenure_of(poll[0]) in begun and len(poll) > 1:
            later.append(poll[0])
        begun.add(tenure_of(poll[0]))
    if not later:
        return False
    remove(run, random.choice(later))
    return True


def move_row_to_another_tenure(run: Story, random: Random) -> bool:
    moves = [
        (row, other)
        for poll in polls(run)
        for row in poll[1:-1]
        for other in run.rows["assignments"]
        if other["change"] == "assigned"
        and (other["consumer"], other["partition"]) == (row["consumer"], row["partition"])
        and other["life"] != row["life"]
    ]
    if not moves:
        return False
    row, other = random.choice(moves)
    row.update(life=other["life"], tenure=other["tenure"])
    return True


def cut_tenure(run: Story, random: Random) -> bool:
    """A life did not note the last records that it committed."""
    keys = ("consumer", "life", "partition")
    last: dict[tuple[Any, ...], int] = {}
    for commit in run.rows["commits"]:
        holder = tuple(commit[key] for key in keys)
        last[holder] = max(last.get(holder, 0), commit["offset"])
    cuts = []
    for row in read_rows(run):
        holder = tuple(row[key] for key in keys)
        if row["offset"] < last.get(holder, 0):
            cuts.append((holder, row["offset"]))
    if not cuts:
        return False
    holder, first = random.choice(cuts)
    for row in read_rows(run):
        if tuple(row[key] for key in keys) == holder and row["offset"] >= first:
            remove(run, row)
    return True


def rewind_start_of_tenure(run: Story, random: Random) -> bool:
    """A tenure begins one record before what its group had committed."""
    logged = sorted(map(place, log_rows(run)))
    chosen = []
    for row in run.rows["assignments"]:
        committed = [
            commit["offset"]
            for commit in sorted(run.rows["commits"], key=lambda commit: commit["time"])
            if commit["error"] is None
            and (commit["group"], commit["partition"]) == (row["group"], row["partition"])
            and commit["time"] <= row["time"]
        ]
        if row["change"] != "assigned" or row["consumer"] in READ_BACKS or not committed:
            continue
        before = [at[1] for at in logged if at[0] == row["partition"] and at[1] < committed[-1]]
        chosen += [(row, before[-1])] if before else []
    if not chosen:
        return False
    row, offset = random.choice(chosen)
    row["offset"] = offset
    return True


def swap_acks_of_a_transaction(run: Story, random: Random) -> bool:
    def together(row: Row) -> tuple[Any, ...]:
        return row["producer"], row["life"], row["transaction"], row["partition"]

    sends = sorted(
        (row for row in visible_sends(run) if row["transaction"] is not None), key=identity
    )
    pairs = [
        (one, two)
        for number, one in enumerate(sends)
        for two in sends[number + 1 : number + 9]
        if together(one) == together(two)
    ]
    if not pairs:
        return False
    one, two = random.choice(pairs)
    one["offset"], two["offset"] = two["offset"], one["offset"]
    return True


def copier(run: Story) -> dict[tuple[int, int], list[list[Row]]]:
    """Make the first group a copier: it reads as the client that sends in transactions. Its polls,
    by the life and the number of a committed transaction whose records they have.
    """
    sent = {identity(row): row for row in visible_sends(run) if row["transaction"] is not None}
    groups = sorted({row["group"] for row in read_rows(run)})
    names = {row["producer"] for row in sent.values()}
    if len(names) != 1:
        return {}
    (name,) = names
    for table in ("seen", "assignments", "commits"):
        for row in run.rows[table]:
            if row["group"] == groups[0] and row["consumer"] not in READ_BACKS:
                row["consumer"] = name
    found: dict[tuple[int, int], list[list[Row]]] = {}
    for poll in polls(run):
        for row in poll:
            send = sent.get(identity(row))
            if send is not None and row["consumer"] == name and row["life"] == send["life"]:
                found.setdefault((send["life"], send["transaction"]), []).append(poll)
    return found


def read_own_record(run: Story, random: Random) -> bool:
    """A copier polls a record in the transaction that sent it."""
    found = copier(run)
    if not found:
        return False
    life, number = random.choice(sorted(found))
    for row in random.choice(found[life, number]):
        row["transaction"] = number
    return True


def read_each_other(run: Story, random: Random) -> bool:
    """Two transactions of a copier poll each other's records."""
    found = copier(run)
    pairs = [
        (one, two)
        for one in found
        for two in found
        if one < two and one[0] == two[0] and found[one][0] is not found[two][0]
    ]
    if not pairs:
        return False
    one, two = random.choice(sorted(pairs))
    first, second = found[one][0], found[two][0]
    for poll, number in ((first, two[1]), (second, one[1])):
        for row in poll:
            row["transaction"] = number
    return True


def change_a_replica(run: Story, random: Random) -> bool:
    replicas = run.facts.replicas
    if replicas is None or not len(replicas.checksum):
        return False
    checksum = replicas.checksum.copy()
    checksum[random.randrange(len(checksum))] += 1_000_000
    run.facts = replace(run.facts, replicas=replace(replicas, checksum=checksum))
    return True


def hold_back_readers(run: Story, random: Random) -> bool:
    partition, end = random.choice(sorted(run.facts.ends.items()))
    if not end.end:
        return False
    ends = {**run.facts.ends, partition: replace(end, stable=end.end - 1)}
    run.facts = replace(run.facts, ends=ends)
    return True
