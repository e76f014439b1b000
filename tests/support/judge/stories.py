"""Small ledgers written by hand, in the order in which things happened.

A record "a=1" is number 1 of producer a. A place is an offset of partition 0, or "1/5" for offset 5
of partition 1. Times are counted up by one with each line.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from streambed.judge.findings import Facts, PartitionEnd
from streambed.plan import WITNESS, WITNESS_UNCOMMITTED
from streambed.record.history import Ledger, empty
from streambed.record.ledger import schemas
from streambed.record.ledger.schemas import Outcome

TOPIC = "lines"
STARTS = {number: PartitionEnd(partition=number, start=0) for number in range(4)}
Place = int | str
WRITTEN, NOT_WRITTEN, UNKNOWN, ABORTED = Outcome


def split(place: Place | None) -> tuple[int, int]:
    """Partition and offset of a place; offset -1 if it is unknown."""
    if place is None:
        return 0, -1
    partition, _, offset = str(place).rpartition("/")
    return int(partition or 0), int(offset)


class Story:
    """Rows of every table of a ledger."""

    def __init__(self) -> None:
        self.time = 0
        self.facts = Facts(ends=STARTS)
        """What is known beside the ledger; the logs of all partitions begin at 0."""
        self.rows: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("sent", "seen", "lives", "transactions", "assignments", "commits")
        }

    def _now(self) -> int:
        self.time += 1
        return self.time

    def send(
        self,
        name: str,
        at: Place | None = None,
        *,
        outcome: Outcome = WRITTEN,
        life: int = 1,
        txn: int | None = None,
    ) -> Story:
        """A record and what became of it."""
        producer, _, sequence = name.partition("=")
        partition, offset = split(at)
        time = self._now()
        self.rows["sent"].append(
            {
                "producer": producer,
                "sequence": int(sequence),
                "topic": TOPIC,
                "partition": partition,
                "offset": offset,
                "due": time,
                "sent": time,
                "acked": time if outcome == WRITTEN else None,
                "outcome": int(outcome),
                "life": life,
                "transaction": txn,
            }
        )
        return self

    def poll(
        self,
        *records: tuple[str, Place],
        by: str = "reader",
        group: str = "",
        life: int = 1,
        tenure: int | None = 1,
        txn: int | None = None,
    ) -> Story:
        """One call that returned these records."""
        time = self._now()
        for name, at in records:
            producer, _, sequence = name.partition("=")
            partition, offset = split(at)
            self.rows["seen"].append(
                {
                    "consumer": by,
                    "group": group or by,
                    "topic": TOPIC,
                    "partition": partition,
                    "offset": offset,
                    "producer": producer or None,
                    "sequence": int(sequence) if sequence else None,
                    "seen": time,
                    "timestamp": 0,
                    "life": life,
                    "tenure": tenure,
                    "transaction": txn,
                }
            )
        return self

    def assign(
        self,
        start: Place = 0,
        *,
        by: str = "reader",
        group: str = "",
        life: int = 1,
        tenure: int = 1,
        change: str = "assigned",
        origin: str | None = "earliest",
    ) -> Story:
        """A tenure begins, or changes."""
        partition, offset = split(start)
        self.rows["assignments"].append(
            {
                "consumer": by,
                "group": group or by,
                "life": life,
                "tenure": tenure,
                "topic": TOPIC,
                "partition": partition,
                "time": self._now(),
                "change": change,
                "offset": offset,
                "origin": origin,
            }
        )
        return self

    def commit(
        self,
        at: Place,
        *,
        by: str = "reader",
        group: str = "",
        life: int = 1,
        error: str | None = None,
    ) -> Story:
        """A group commits an offset."""
        partition, offset = split(at)
        self.rows["commits"].append(
            {
                "consumer": by,
                "group": group or by,
                "life": life,
                "topic": TOPIC,
                "partition": partition,
                "offset": offset,
                "time": self._now(),
                "error": error,
            }
        )
        return self

    def transaction(
        self, number: int, outcome: Outcome = WRITTEN, *, of: str = "a", life: int = 1
    ) -> Story:
        """The end of a transaction."""
        time = self._now()
        row = {"producer": of, "life": life, "transaction": number, "began": time, "ended": time}
        self.rows["transactions"].append({**row, "outcome": int(outcome)})
        return self

    def life(self, client: str, life: int, first: int) -> Story:
        """A producer starts."""
        row = {"client": client, "life": life, "began": self._now(), "first": first}
        self.rows["lives"].append(row)
        return self

    def log(self, *records: tuple[str, Place], uncommitted: bool = False) -> Story:
        """What a witness read back."""
        by = WITNESS_UNCOMMITTED if uncommitted else WITNESS
        for record in records:
            self.poll(record, by=by, tenure=None)
        return self

    def ledger(self) -> Ledger:
        """The tables."""
        return Ledger(**{name: table(rows, name) for name, rows in self.rows.items()})


def story_of(ledger: Ledger, topic: str) -> Story:
    """The rows of one topic of a real run, as a story."""
    story = Story()
    for name, rows in story.rows.items():
        frame: pl.DataFrame = getattr(ledger, name)
        if "topic" in frame.columns:
            frame = frame.filter(pl.col("topic") == topic).with_columns(topic=pl.lit(TOPIC))
        rows += frame.to_dicts()
    return story


def table(rows: list[dict[str, Any]], name: str) -> pl.DataFrame:
    """Rows as a table of the ledger; columns that they lack are null."""
    schema = empty(schemas.TABLES[name]).schema
    whole = [{column: row.get(column) for column in schema} for row in rows]
    return pl.DataFrame(whole, schema=schema, orient="row")
