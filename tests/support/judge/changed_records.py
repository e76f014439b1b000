"""Changes of what was sent, of the log, and of single records that were read."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

from tests.support.judge.ledger_rows import (
    identity,
    log_rows,
    place,
    read_rows,
    remove,
    tenure_of,
    visible_sends,
)
from tests.support.judge.stories import ABORTED, NOT_WRITTEN, UNKNOWN, WRITTEN, Story


def drop_log_row(run: Story, random: Random) -> bool:
    remove(run, random.choice(log_rows(run)))
    return True


def drop_record_of_transaction(run: Story, random: Random) -> bool:
    sends = [row for row in visible_sends(run) if row["transaction"] is not None]
    if not sends:
        return False
    lost = identity(random.choice(sends))
    remove(run, next(row for row in log_rows(run) if identity(row) == lost))
    return True


def drop_read_row(run: Story, random: Random) -> bool:
    rows = read_rows(run)
    times = Counter((row["group"], identity(row)) for row in rows)
    once = [row for row in rows if times[row["group"], identity(row)] == 1]
    if not once:
        return False
    remove(run, random.choice(once))
    return True


def double_log_row(run: Story, random: Random) -> bool:
    rows = log_rows(run)
    copied = random.choice(rows)
    end = max(offset for partition, offset in map(place, rows) if partition == copied["partition"])
    run.rows["seen"].append({**copied, "offset": end + 100})
    return True


def swap_reads_of_a_poll(run: Story, random: Random) -> bool:
    rows = read_rows(run)
    pairs = [
        (one, two)
        for one, two in pairwise(rows)
        if tenure_of(one) == tenure_of(two) and one["seen"] == two["seen"]
    ]
    if not pairs:
        return False
    one, two = random.choice(pairs)
    for key in ("offset", "producer", "sequence"):
        one[key], two[key] = two[key], one[key]
    return True


def read_again(run: Story, random: Random) -> bool:
    """The last record of a tenure is delivered again, in a separate poll."""
    row = random.choice(read_rows(run))
    last = [one for one in read_rows(run) if tenure_of(one) == tenure_of(row)][-1]
    at = next(number for number, one in enumerate(run.rows["seen"]) if one is last)
    run.rows["seen"].insert(at + 1, {**last, "seen": last["seen"] + 1})
    return True


def refuse_visible_send(run: Story, random: Random) -> bool:
    sends = [row for row in visible_sends(run) if row["transaction"] is None]
    if not sends:
        return False
    random.choice(sends)["outcome"] = int(NOT_WRITTEN)
    return True


def abort_visible_transaction(run: Story, random: Random) -> bool:
    sends = [row for row in visible_sends(run) if row["transaction"] is not None]
    if not sends:
        return False
    number = random.choice(sends)["transaction"]
    for row in run.rows["sent"]:
        if row["transaction"] == number:
            row["outcome"] = int(ABORTED)
    for row in run.rows["transactions"]:
        if row["transaction"] == number:
            row["outcome"] = int(ABORTED)
    return True


def forget_ack(run: Story, random: Random) -> bool:
    """An acknowledged record becomes unknown: readers prove that it is written."""
    sends = [row for row in visible_sends(run) if row["transaction"] is None]
    if not sends:
        return False
    chosen = random.choice(sends)
    chosen.update(outcome=int(UNKNOWN), partition=0, offset=-1, acked=None)
    return True


def acknowledge_what_is_not_there(run: Story, random: Random) -> bool:
    sends = [row for row in run.rows["sent"] if row["outcome"] == UNKNOWN]
    if not sends:
        return False
    random.choice(sends)["outcome"] = int(WRITTEN)
    return True


def change_identity_of_a_read(run: Story, random: Random) -> bool:
    row, other = random.choice(read_rows(run)), random.choice(log_rows(run))
    if identity(row) == identity(other):
        return False
    row.update(producer=other["producer"], sequence=other["sequence"])
    return True


def read_what_nobody_sent(run: Story, random: Random) -> bool:
    random.choice(read_rows(run)).update(producer="stranger", sequence=7)
    return True


def swap_acks(run: Story, random: Random) -> bool:
    sends = [row for row in visible_sends(run) if row["transaction"] is None]
    pairs = [(one, two) for one, two in pairwise(sends) if one["partition"] == two["partition"]]
    if not pairs:
        return False
    one, two = random.choice(pairs)
    one["offset"], two["offset"] = two["offset"], one["offset"]
    return True


def raise_start_of_tenure(run: Story, random: Random) -> bool:
    begun = [row for row in run.rows["assignments"] if row["change"] == "assigned"]
    starts = {tenure_of(row): row for row in begun}
    row = random.choice(read_rows(run))
    starts[tenure_of(row)]["offset"] = row["offset"] + 1
    return True


def commit_what_was_not_read(run: Story, random: Random) -> bool:
    """The first life of a group commits one record more than it read; nothing follows it."""
    rows = [row for row in read_rows(run) if row["life"] == 1]
    logged = sorted(map(place, log_rows(run)))
    for row in random.sample(rows, len(rows)):
        own = [one["offset"] for one in rows if tenure_of(one) == tenure_of(row)]
        further = [at for at in logged if at[0] == row["partition"] and at[1] > max(own)]
        if further:
            run.rows["commits"].append(
                {
                    **{
                        key: row[key] for key in ("consumer", "group", "life", "topic", "partition")
                    },
                    "offset": further[0][1] + 1,
                    "time": 2**62,
                    "error": None,
                }
            )
            return True
    return False
