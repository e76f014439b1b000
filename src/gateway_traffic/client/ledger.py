"""The ledger of a client: when each record was due, sent and acknowledged, and its last status."""

from __future__ import annotations

import json
import time
from array import array
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl


class Sending:
    """One record to send. Times are monotonic nanoseconds."""

    __slots__ = ("attempts", "date", "due_ns", "gateway_id", "payload", "sent_ns")

    def __init__(self, gateway_id: str, date: int, payload: bytes, due_ns: int) -> None:
        self.gateway_id = gateway_id
        self.date = date
        self.payload = payload
        self.due_ns = due_ns
        self.sent_ns = 0
        self.attempts = 0

    def start_attempt(self) -> bytes:
        """Note one more attempt, now, and return the payload to write."""
        self.attempts += 1
        if not self.sent_ns:
            self.sent_ns = time.monotonic_ns()
        return self.payload


class Ledger:
    """Every settled record: acknowledged (`acked` is not null), rejected (`status` is 400 to 499)
    or given up.

    | column | |
    |---|---|
    | gateway_id, date | the record |
    | due, sent, acked | monotonic nanoseconds; sent: the first time; acked: null if it was not |
    | attempts | how often it was sent |
    | status | the last HTTP status, or a WebSocket close code below 4000; 0: none |
    | bytes | length of its payload |

    `monotonic + epoch_ns` (in the file's metadata) is the time since 1970.
    """

    def __init__(self) -> None:
        self.epoch_ns = time.time_ns() - time.monotonic_ns()
        self._gateway_ids: list[str] = []
        self._numbers = {
            name: array("q")
            for name in ("date", "due", "sent", "acked", "attempts", "status", "bytes")
        }
        self._appends = [column.append for column in self._numbers.values()]

    def __len__(self) -> int:
        return len(self._gateway_ids)

    def add(self, sending: Sending, *, status: int, acked_ns: int = 0) -> None:
        """Add a settled record."""
        self._gateway_ids.append(sending.gateway_id)
        row = (
            sending.date,
            sending.due_ns,
            sending.sent_ns,
            acked_ns,
            sending.attempts,
            status,
            len(sending.payload),
        )
        for append, value in zip(self._appends, row, strict=True):
            append(value)

    def frame(self) -> pl.DataFrame:
        """The ledger as a table with the columns above."""
        columns = {"gateway_id": pl.Series(self._gateway_ids, dtype=pl.String)}
        for name, values in self._numbers.items():
            columns[name] = pl.Series(values, dtype=pl.Int64)
        frame = pl.DataFrame(columns)
        return frame.with_columns(pl.when(pl.col("acked") > 0).then("acked").alias("acked"))

    def write(self, path: Path, **options: Any) -> None:
        """Write it as Parquet, with the client's options as metadata."""
        asked = json.dumps(options, default=str)
        metadata = {"epoch_ns": str(self.epoch_ns), "asked": asked}
        self.frame().write_parquet(path, metadata=metadata)


def sent_rows(frame: pl.DataFrame, *, producer: str, topic: str) -> pl.DataFrame:
    """A ledger's table in the common form of a ledger: what one producer sent to a topic.

    | column | |
    |---|---|
    | producer, sequence | the record: numbers count from 0, in the order of `due` |
    | topic, key | where it went, and its key, the gateway |
    | due, sent, acked | monotonic nanoseconds |
    | error | why it was not acknowledged |

    A record that was sent in several copies has one row, for the store takes it once.
    """
    records = frame.group_by("gateway_id", "date").agg(
        pl.col("due").min(),
        pl.col("sent").filter(pl.col("sent") > 0).min(),
        pl.col("acked").min(),
        pl.col("status").last(),
    )
    ordered = records.sort("due", "gateway_id", "date").with_row_index("sequence")
    refused = pl.format("status {}", "status")
    return ordered.select(
        pl.lit(producer).alias("producer"),
        pl.col("sequence").cast(pl.Int64),
        pl.lit(topic).alias("topic"),
        *("due", "sent", "acked"),
        pl.when(pl.col("acked").is_null()).then(refused).alias("error"),
        pl.col("gateway_id").alias("key"),
    )


@dataclass(frozen=True)
class Summary:
    """A ledger in a few numbers. Latency is from when a record was due to its acknowledgement."""

    records: int
    acked: int
    rejected: int
    given_up: int
    attempts: int
    scheduled_per_s: float
    sent_per_s: float
    acked_per_s: float
    p50_ms: float
    p99_ms: float
    max_ms: float

    def as_dict(self) -> dict[str, float]:
        """The numbers, rounded for JSON."""
        return {name: round(value, 3) for name, value in asdict(self).items()}


def summarise(frame: pl.DataFrame) -> Summary:
    """Summarise a ledger's table."""
    acked = frame.filter(pl.col("acked").is_not_null())
    sent = frame.filter(pl.col("sent") > 0)
    rejected = frame.filter(pl.col("acked").is_null() & pl.col("status").is_between(400, 499))
    latency_ms = (acked["acked"] - acked["due"]) / 1e6
    return Summary(
        records=len(frame),
        acked=len(acked),
        rejected=len(rejected),
        given_up=len(frame) - len(acked) - len(rejected),
        attempts=int(frame["attempts"].sum()),
        scheduled_per_s=_per_s(frame["due"]),
        sent_per_s=_per_s(sent["sent"]),
        acked_per_s=_per_s(acked["acked"]),
        p50_ms=_quantile(latency_ms, 0.5),
        p99_ms=_quantile(latency_ms, 0.99),
        max_ms=_quantile(latency_ms, 1.0),
    )


def _per_s(times_ns: pl.Series) -> float:
    if len(times_ns) < 2:
        return 0.0
    first, last = times_ns.min(), times_ns.max()
    return (len(times_ns) - 1) / max(1e-9, (int(last) - int(first)) / 1e9)  # type: ignore[arg-type]


def _quantile(values: pl.Series, share: float) -> float:
    return float(values.quantile(share, "nearest") or 0.0) if len(values) else float("nan")
