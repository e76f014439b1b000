"""Compare the averages in the store with the exact answer for the records in the log."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import psycopg
from audits import finish, usable, wrong_letters
from expected import (
    LENGTH,
    Answer,
    Average,
    Key,
    answer_of,
    fare_of,
    moment,
    neighbourhoods_in,
    ride_of,
)
from topics import Record, records_of

NEIGHBOURHOODS = Path(__file__).parent / "map" / "neighbourhoods.jsonl"
STORED = "select distinct start, neighbourhood, rides, tips from averages"
"""A batch that was done again wrote the same rows again."""
WAIT_S = 120
CENT = Decimal("0.01")


def main(bootstrap: str, store: str) -> None:
    """Print what differs."""
    lines = NEIGHBOURHOODS.read_text().splitlines()
    reasons = {f"neighbourhoods/0/{len(lines) - 1}": "fewer than three corners"}
    reports = usable(
        records_of(bootstrap, "rides"), lambda row: ride_of(row.value, arrival(row)), reasons
    )
    fares = usable(
        records_of(bootstrap, "fares"), lambda row: fare_of(row.value, arrival(row)), reasons
    )
    rides = [ride for ride in reports if ride is not None]
    answer = answer_of(rides, fares, neighbourhoods_in(lines))
    differences = wait_for_averages(answer, store)
    differences += wrong_letters(reasons, records_of(bootstrap, "dead-letters"))
    final = sum(is_final(key, answer) for key in answer.averages)
    compared = f"{final} final averages of {len(rides)} rides and {len(fares)} fares"
    finish(differences, compared, reasons)


def arrival(row: Record) -> datetime:
    """When a row reached the collecting server."""
    return moment(row.headers["received"].decode())


def wait_for_averages(answer: Answer, store: str) -> list[str]:
    """Averages that are wrong or missing. The last ones are written one batch after the last
    record was read, when the watermark has passed them: wait until all are there.
    """
    end = time.monotonic() + WAIT_S
    while True:
        differences = wrong_averages(answer, stored_averages(store))
        if not differences or time.monotonic() > end:
            return differences
        time.sleep(1)


def stored_averages(store: str) -> dict[Key, Average]:
    """What the store has, each average with one value only."""
    with psycopg.connect(store) as connection:
        rows = connection.execute(STORED).fetchall()
    averages = {
        (start, neighbourhood): Average(rides=rides, tips=Decimal(tips).quantize(CENT))
        for start, neighbourhood, rides, tips in rows
    }
    if len(averages) < len(rows):
        sys.exit(f"{len(rows) - len(averages)} averages were written with two values")
    return averages


def is_final(key: Key, answer: Answer) -> bool:
    """Whether a half hour ended so early that its average must have been written."""
    start = datetime.strptime(key[0], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    return start + LENGTH < answer.final_before


def wrong_averages(answer: Answer, stored: dict[Key, Average]) -> list[str]:
    """Averages that are not as they must be, or missing."""
    unlike = [
        f"{key}: stored {average}, expected {answer.averages.get(key)}"
        for key, average in stored.items()
        if answer.averages.get(key) != average
    ]
    awaited = [key for key in answer.averages if is_final(key, answer)]
    return unlike + [f"{key}: missing" for key in awaited if key not in stored]


if __name__ == "__main__":
    main(*sys.argv[1:])
