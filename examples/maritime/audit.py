"""Compare the counts in the store with the exact answer for the reports in the log."""

from __future__ import annotations

import sys

import psycopg
from audits import finish, usable, wrong_letters
from expected import Key, ships_of, voyage_of
from topics import records_of

STORED = """select to_char(minute, 'YYYY-MM-DD HH24:MI'), destination, kind, ships, mmsis
from ships_by_destination"""


def main(bootstrap: str, store: str) -> None:
    """Print what differs."""
    reasons: dict[str, str] = {}
    reports = usable(records_of(bootstrap, "ais"), lambda record: voyage_of(record.value), reasons)
    expected = ships_of(voyage for voyage in reports if voyage is not None)
    stored = stored_ships(store)
    differences = [
        f"{key}: stored {stored.get(key)}, expected {expected.get(key)}"
        for key in sorted(stored.keys() | expected.keys())
        if stored.get(key) != expected.get(key)
    ]
    differences += wrong_letters(reasons, records_of(bootstrap, "dead-letters"))
    finish(differences, f"{len(expected)} counts of {len(reports)} reports", reasons)


def stored_ships(store: str) -> dict[Key, list[int]]:
    """What the store has: its counts must be those of its ships."""
    with psycopg.connect(store) as connection:
        rows = connection.execute(STORED).fetchall()
    miscounted = [row for row in rows if row[3] != len(row[4])]
    if miscounted:
        sys.exit(f"{len(miscounted)} counts differ from their lists, such as {miscounted[0]}")
    return {(minute, destination, kind): mmsis for minute, destination, kind, _, mmsis in rows}


if __name__ == "__main__":
    main(*sys.argv[1:])
