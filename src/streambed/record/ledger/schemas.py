"""The columns of every table of a run. Times are monotonic nanoseconds.

Rows of one life of a client are in the order in which it wrote them.
A *life* is one process of a client: 1 at first, one more with each restart.
"""

from __future__ import annotations

from enum import IntEnum

import pyarrow as pa

SAMPLES = pa.schema(
    {"time": pa.int64(), "metric": pa.string(), "of": pa.string(), "value": pa.float64()}
)


class Outcome(IntEnum):
    """What became of a record that was sent: the column `outcome` of `sent`."""

    WRITTEN = 0
    """It is in the log, as far as the broker promises it by its acknowledgement."""
    NOT_WRITTEN = 1
    """It is certainly not in the log."""
    UNKNOWN = 2
    """It may be in the log. Every record sent with acks=0 is unknown."""
    ABORTED = 3
    """Its transaction was certainly aborted: no reader of committed records may see it."""


SENT = pa.schema(
    {
        "producer": pa.string(),
        "sequence": pa.int64(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "due": pa.int64(),
        "sent": pa.int64(),
        "acked": pa.int64(),
        "error": pa.string(),
        "key": pa.int64(),
        "outcome": pa.int8(),
        "life": pa.int16(),
        "transaction": pa.int32(),
    }
)
"""`transaction` counts the transactions of a life from 1; null outside of transactions.

`partition` and `offset` are also there for records that were delivered and then aborted.
"""

SEEN = pa.schema(
    {
        "consumer": pa.string(),
        "group": pa.string(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "producer": pa.string(),
        "sequence": pa.int64(),
        "seen": pa.int64(),
        "timestamp": pa.int64(),
        "key": pa.int64(),
        "life": pa.int16(),
        "tenure": pa.int32(),
        "transaction": pa.int32(),
    }
)
"""Records that one call returned, a *poll*, have the same `seen`; no other poll of that client has.

`tenure` is the number in `assignments` under which the partition was held.
`transaction` is the transaction of this client in which the record was read; null outside of one.
"""

KEPT = pa.schema(
    {
        "consumer": pa.string(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "key": pa.binary(),
        "value": pa.binary(),
    }
)

LIVES = pa.schema(
    {"client": pa.string(), "life": pa.int16(), "began": pa.int64(), "first": pa.int64()}
)
"""A row for each life of a producer; `first` is the first sequence that it may send."""

TRANSACTIONS = pa.schema(
    {
        "producer": pa.string(),
        "life": pa.int16(),
        "transaction": pa.int32(),
        "began": pa.int64(),
        "ended": pa.int64(),
        "outcome": pa.int8(),
        "error": pa.string(),
    }
)
"""`outcome` is WRITTEN for committed, ABORTED, or UNKNOWN. A transaction that has no row and whose
records have rows was open when its producer was killed: its outcome is unknown.
"""

ASSIGNMENTS = pa.schema(
    {
        "consumer": pa.string(),
        "group": pa.string(),
        "life": pa.int16(),
        "tenure": pa.int32(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "time": pa.int64(),
        "change": pa.string(),
        "offset": pa.int64(),
        "origin": pa.string(),
    }
)
"""How long a client held a partition: a *tenure*, numbered within its life from 1.

`change` is one of
- assigned: it begins. `offset` is the first position, `origin` tells where it is from: `committed`,
  `earliest`, `latest` (no offset was committed) or `all` (a read-back without a group).
- reset: the client jumped to `offset`, because its position was not in the log. `origin` says why.
- revoked, lost, closed: it ends; `offset` is the position. A life that was killed has no such row.
"""

COMMITS = pa.schema(
    {
        "consumer": pa.string(),
        "group": pa.string(),
        "life": pa.int16(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "time": pa.int64(),
        "error": pa.string(),
    }
)
"""Commits whose reply the client saw; `error` is null if the broker accepted it."""

PROBED = pa.schema(
    {
        "probe": pa.string(),
        "asked": pa.int64(),
        "answered": pa.int64(),
        "batch": pa.string(),
        "rows": pa.int64(),
        "error": pa.string(),
    }
)
"""What a probe read of a store during the run: a row for each batch that it found.

A read that found nothing has one row without a batch; `error` says why a read failed.
"""

ADDED_LATER = {
    SENT: ("key", "outcome", "life", "transaction"),
    SEEN: ("key", "life", "tenure", "transaction"),
}
"""Columns that tables of older runs lack: they are read as null."""

LOG_BATCHES = pa.schema(
    {
        "broker": pa.string(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "first": pa.int64(),
        "last": pa.int64(),
        "epoch": pa.int32(),
        "checksum": pa.int64(),
        "records": pa.int32(),
        "producer_id": pa.int64(),
        "producer_epoch": pa.int32(),
        "transactional": pa.bool_(),
        "marker": pa.string(),
        "timestamp": pa.int64(),
    }
)
"""Every batch of records in the files of every broker, after the run. `marker` is `commit` or
`abort` for the end of a transaction, else null. `timestamp` is the last one, in ms since 1970.
"""

LEADERS = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "epoch": pa.int32(),
        "leader": pa.string(),
        "in_sync": pa.list_(pa.string()),
        "timestamp": pa.int64(),
    }
)
"""Every leader of every partition, from the cluster's own metadata. `leader` is empty while nobody
leads. Epochs are exact; a poll of the running cluster may miss some.
"""

GROUP_COMMITS = pa.schema(
    {
        "group": pa.string(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.int64(),
    }
)
"""Every committed offset that the brokers still hold, also of clients that keep no ledger."""

TRANSACTION_STATES = pa.schema(
    {
        "transactional_id": pa.string(),
        "producer_id": pa.int64(),
        "producer_epoch": pa.int32(),
        "state": pa.string(),
        "timestamp": pa.int64(),
    }
)
"""Every state of a transaction that its coordinator recorded."""

BROKER_TABLES = {
    "log_batches": LOG_BATCHES,
    "leaders": LEADERS,
    "group_commits": GROUP_COMMITS,
    "transaction_states": TRANSACTION_STATES,
}
"""Tables made after the run from the files of its brokers."""

TABLES = {
    "samples": SAMPLES,
    "sent": SENT,
    "seen": SEEN,
    "kept": KEPT,
    "lives": LIVES,
    "transactions": TRANSACTIONS,
    "assignments": ASSIGNMENTS,
    "commits": COMMITS,
    "probed": PROBED,
}
"""The schema of each table of a run, by the name of its file."""
