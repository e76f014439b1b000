"""What is known of each account: kept by Spark in RocksDB, and in Redis for others to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import redis
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

PROFILE = "paid long, spent_cents long, newest long"
NOBODY = (0, 0, -1)
PROFILED = (
    "topic string, partition int, offset long, value binary, number long, type string, "
    "cents long, account string, left_cents long, reason string, paid long, spent_cents long"
)


class Profiles(StatefulProcessor):
    """Adds to each payment what its account had done before it. Payments of an account come with
    rising numbers: one that does not was seen before. Rows that have a reason pass.
    """

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._profile = handle.getValueState("profile", PROFILE)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """All payments of one account in a batch, in no order."""
        profile = self._profile.get()
        paid, spent_cents, newest = profile or NOBODY
        for row in sorted(rows, key=lambda row: row.offset):
            fields = row.asDict()
            if row.reason is None and row.number <= newest:
                fields["reason"] = "seen before"
            yield Row(**fields, paid=paid, spent_cents=spent_cents)
            if fields["reason"] is None:
                paid, spent_cents, newest = paid + 1, spent_cents + row.cents, row.number
        if newest != (profile or NOBODY)[2]:  # A row that is no payment leaves nothing behind.
            self._profile.update((paid, spent_cents, newest))

    def close(self) -> None:
        """There is nothing to close."""


def profiled(judged: DataFrame) -> DataFrame:
    """Payments of a stream with the past of their accounts."""
    by_account = judged.groupBy("account")
    return by_account.transformWithState(Profiles(), PROFILED, "update", "none")


class Twin:
    """The same profiles in Redis, and which model scored which batch."""

    def __init__(self, url: str) -> None:
        self._redis = redis.Redis.from_url(url, decode_responses=True)

    def model_of(self, batch: int, newest: int) -> int:
        """The model that scores a batch: the newest, but a batch that is repeated is scored by the
        model that it was first scored by.
        """
        self._redis.hsetnx("models", str(batch), newest)
        return int(self._redis.hget("models", str(batch)))

    def write(self, newest: DataFrame) -> None:
        """Set the profiles of some accounts. Doing it twice changes nothing."""
        pipeline = self._redis.pipeline(transaction=True)
        for row in newest.collect():
            fields = {"paid": row.paid, "spent_cents": row.spent_cents, "newest": row.number}
            pipeline.hset(f"profile/{row.account}", mapping=fields)
        pipeline.execute()
