"""What a run recorded, as data frames for people.

`t` comes first: seconds since the load began. Spans of time are durations. Raw times, monotonic
nanoseconds, come last. Checks read the history itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from streambed.kinds.checks.no_loss import acked_records, finding_of
from streambed.kinds.evidence.course import IDENTITY
from streambed.kinds.evidence.journeys import journeys
from streambed.kinds.evidence.readers import readers_of
from streambed.kinds.evidence.recovery import HOLD, baseline_of
from streambed.kinds.evidence.recovery import recoveries as recoveries_of
from streambed.record.event_log import line_of
from streambed.record.events import Event, Phase, event_name
from streambed.record.history import History
from streambed.wording import line_about

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


def sent(history: History) -> pl.DataFrame:
    """Every record that a producer sent, by the time at which it was due."""
    return history.ledger.sent.sort("due").select(
        _seconds("due", history),
        "topic",
        *IDENTITY,
        ack_after=_span("due", "acked"),
        sent_after=_span("due", "sent"),
        error=pl.col("error"),
        **_columns("partition", "offset", "due", "sent", "acked"),
    )


def seen(history: History) -> pl.DataFrame:
    """Every record that a consumer saw; `latency` is null for records without a producer."""
    due = history.ledger.sent.select(*IDENTITY, "due")
    records = history.ledger.seen.join(due, on=IDENTITY, how="left").sort("seen")
    return records.select(
        _seconds("seen", history),
        "consumer",
        "topic",
        _span("due", "seen").alias("latency"),
        *IDENTITY,
        timestamp=pl.from_epoch("timestamp", time_unit="ms"),
        **_columns("group", "partition", "offset", "due", "seen"),
    )


def samples(history: History) -> pl.DataFrame:
    """What was measured once a second."""
    return history.samples.select(
        _seconds("time", history), "metric", "of", "value", **_columns("time")
    )


def events(history: History) -> pl.DataFrame:
    """What happened: the event's name, a line about it, and its fields as JSON."""
    rows = [
        (event.time, event_name(event), _line(event), line_of(event).decode().strip())
        for event in history.events
    ]
    schema = {"time": pl.Int64, "event": pl.String, "says": pl.String, "fields": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.select(_seconds("time", history), "event", "says", "fields", **_columns("time"))


def _line(event: Event) -> str:
    if isinstance(event, Phase):
        return event.phase
    return " ".join(line_about(event).split())


def lost(history: History) -> pl.DataFrame:
    """Acked records that a reader never saw, a row for each record and reader.

    `in_log`: whether the witness found it in the log; null if the topic was not read back.
    """
    parts = [_nothing_lost(history)]
    for topic in history.ledger.sent["topic"].unique(maintain_order=True):
        acked = acked_records(history, topic)
        for reader in readers_of(history, topic):
            missing = finding_of(history, reader, topic, acked).lost
            parts.append(missing.with_columns(reader=pl.lit(reader.name)).select(_LOST))
    return (
        pl.concat(parts)
        .sort("due")
        .select(_seconds("due", history), *_LOST[:-2], **_columns(*_LOST[-2:]))
    )


_LOST = ["reader", "topic", *IDENTITY, "in_log", "partition", "offset", "due", "acked"]


def _nothing_lost(history: History) -> pl.DataFrame:
    sent = history.ledger.sent.clear()
    named = sent.with_columns(
        reader=pl.lit(None, dtype=pl.String), in_log=pl.lit(None, dtype=pl.Boolean)
    )
    return named.select(_LOST)


def latency(history: History, of: str = "") -> pl.DataFrame:
    """A row for each record on its way to a consumer, a sink or through a job.

    `latency` counts from when the record was due; it is null for a record that was never seen. If
    only bounds of `seen` are known, `seen` is null and `latency` is the longest possible.
    """
    parts = [_latency_of(history, name) for name in ([of] if of else _measurable(history))]
    if not parts:
        return _latency_of(history, "").clear()
    return pl.concat(parts).sort("due", maintain_order=True)


def _latency_of(history: History, name: str) -> pl.DataFrame:
    made = journeys(history, name).with_columns(last_seen=pl.coalesce("seen", "latest"))
    return made.select(
        _seconds("due", history),
        of=pl.lit(name),
        latency=_span("due", "last_seen"),
        lost=pl.col("lost"),
        **_columns("topic", "partition", "offset", "due", "seen"),
    )


def recoveries(history: History, of: str = "") -> pl.DataFrame:
    """How consumers, sinks and jobs recovered from each set of overlapping faults.

    Empty without a baseline: no fault, or too little load before the first one.
    """
    parts = [_recoveries_of(history, name) for name in ([of] if of else _measurable(history))]
    return pl.concat(parts) if parts else _recoveries_of(history, "").clear()


def _recoveries_of(history: History, of: str) -> pl.DataFrame:
    records = journeys(history, of).filter(~pl.col("silent"))
    baseline = baseline_of(history, of, records, history.warm_up)
    spans = ("effect_ns", "outage_ns", "restored_ns", "caught_up_ns")
    span = pl.Duration("ns")
    schema = pl.Schema({"t": pl.Float64(), "of": pl.String(), "faults": pl.String()})
    schema.update({name.removesuffix("_ns"): span for name in spans})
    if isinstance(baseline, str):
        return pl.DataFrame(schema=schema)
    rows = [
        (history.load_seconds(one.start), of, one.faults, *(getattr(one, name) for name in spans))
        for one in recoveries_of(history, records, baseline, HOLD)
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _measurable(history: History) -> Iterable[str]:
    """Components whose records have a latency: readers, and jobs that declare both their ends."""
    for name, component in history.components.items():
        engine = component.as_engine
        if engine.reads and engine.writes if engine else component.readers:
            yield name


def quantiles(latencies: pl.DataFrame) -> pl.DataFrame:
    """Quantiles of `latency`, a row for each component; between two values the higher counts."""
    taken = {
        name: pl.col("latency").quantile(share, interpolation="higher").cast(pl.Duration("ns"))
        for name, share in QUANTILES.items()
    }
    records, unseen = pl.col("latency").count(), pl.col("latency").null_count()
    grouped = latencies.group_by("of", maintain_order=True)
    return grouped.agg(records=records, unseen=unseen, **taken)


def _seconds(column: str, history: History) -> pl.Expr:
    """A time as seconds since the load began, or since the run began if it never did."""
    zero_ns = history.start_ns if history.load_ns is None else history.load_ns
    return ((pl.col(column) - zero_ns) / 1e9).alias("t")


def _span(start: str, end: str) -> pl.Expr:
    return (pl.col(end) - pl.col(start)).cast(pl.Duration("ns"))


def _columns(*names: str) -> dict[str, pl.Expr]:
    """Columns that come after computed ones."""
    return {name: pl.col(name) for name in names}
