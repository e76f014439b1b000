"""Gauges: what agents report while they run, in one small JSON file each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from streambed.record import codec, read_json

Positions = dict[str, dict[int, int]]
"""The next offset to read, by topic and partition."""


@dataclass(frozen=True, kw_only=True)
class Gauge:
    """What every agent reports."""

    METRICS: ClassVar[dict[str, str]] = {}
    """The fields that are sampled once a second, and the metric that each becomes."""

    ready: bool = False
    done: bool = False
    """It has nothing left to do."""


@dataclass(frozen=True, kw_only=True)
class ProducerGauge(Gauge):
    """How far the producers of a process have come."""

    METRICS: ClassVar[dict[str, str]] = {
        "sent": "sent_total",
        "acked": "acked_total",
        "failed": "failed_total",
    }

    sent: int = 0
    acked: int = 0
    failed: int = 0
    open: int = 0
    """Sent, but neither acknowledged nor failed yet."""


@dataclass(frozen=True, kw_only=True)
class ReaderGauge(Gauge):
    """How far the consumers of a process, or a sink, have come."""

    METRICS: ClassVar[dict[str, str]] = {
        "seen": "seen_total",
        "lag": "lag_records",
        "lag_s": "lag_s",
    }

    seen: int = 0
    lag: int = 0
    lag_s: float = 0.0
    positions: Positions = field(default_factory=dict)
    """Empty if the broker has no offsets."""


@dataclass(frozen=True, kw_only=True)
class TrafficGauge(Gauge):
    """What a traffic agent has sent and received."""

    METRICS: ClassVar[dict[str, str]] = {
        "sent_bytes": "traffic_sent_bytes",
        "sent_packets": "traffic_sent_packets",
        "missed_packets": "traffic_missed_packets",
        "received_bytes": "traffic_received_bytes",
        "received_packets": "traffic_received_packets",
    }

    sent_bytes: int = 0
    sent_packets: int = 0
    missed_packets: int = 0
    received_bytes: int = 0
    received_packets: int = 0


@dataclass(frozen=True, kw_only=True)
class CapturedLink:
    """What was captured of one link."""

    packets: int = 0
    lost: int = 0
    full: bool = False


@dataclass(frozen=True, kw_only=True)
class CaptureGauge(Gauge):
    """What a capture agent has written, by link."""

    links: dict[str, CapturedLink] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class DelayLineGauge:
    """What passed the delay line until `written_ns`. It has no `ready` and no `done`: it ends with
    the network.
    """

    METRICS: ClassVar[dict[str, str]] = {
        "packets": "delay_line_packets",
        "dropped": "delay_line_dropped",
        "late_mean_ns": "delay_line_late_mean_ns",
        "late_max_ns": "delay_line_late_max_ns",
        "late_packets": "delay_line_late_packets",
    }

    written_ns: int
    packets: int
    dropped: int
    """Packets so far."""
    late_mean_ns: int
    """How late packets were released, since the gauge before."""
    late_max_ns: int
    late_packets: int


@dataclass(frozen=True, kw_only=True)
class DelayLineGauges:
    """The delay line's file: its last gauges, the newest last."""

    gauges: tuple[DelayLineGauge, ...] = ()


GAUGES: dict[str, type[Gauge]] = {
    "producer": ProducerGauge,
    "reader": ReaderGauge,
    "traffic": TrafficGauge,
    "capture": CaptureGauge,
}
"""Every kind of gauge by the name that it has in the file."""


def write_gauge(path: Path, gauge: Gauge) -> None:
    """Replace an agent's gauge."""
    name = next(name for name, kind in GAUGES.items() if kind is type(gauge))
    codec.write_message(path, {"gauge": name, **codec.fields_of(gauge)})


def read_gauge(path: Path) -> Gauge | None:
    """The newest gauge of an agent; None before the first."""
    plain: dict[str, Any] = read_json(path)
    return codec.convert(GAUGES[plain["gauge"]], plain) if plain else None


def read_delay_line_gauges(path: Path) -> tuple[DelayLineGauge, ...]:
    """The last gauges of the delay line, the newest last; none before the first."""
    return codec.convert(DelayLineGauges, read_json(path)).gauges


def combine_gauges(gauges: Sequence[Gauge]) -> Gauge:
    """The gauges of a process and its successor as one: counts are added, the farther position
    counts.
    """
    first, *others = gauges
    for other in others:
        ready, done = first.ready or other.ready, first.done and other.done
        first = replace(first, ready=ready, done=done)
        if isinstance(first, ProducerGauge) and isinstance(other, ProducerGauge):
            counts = ("sent", "acked", "failed", "open")
            first = replace(
                first, **{key: getattr(first, key) + getattr(other, key) for key in counts}
            )
        if isinstance(first, ReaderGauge) and isinstance(other, ReaderGauge):
            positions = _farther(first.positions, other.positions)
            first = replace(first, seen=first.seen + other.seen, positions=positions)
    return first


def _farther(one: Positions, other: Positions) -> Positions:
    positions = {topic: dict(partitions) for topic, partitions in one.items()}
    for topic, partitions in other.items():
        of_topic = positions.setdefault(topic, {})
        for partition, offset in partitions.items():
            of_topic[partition] = max(offset, of_topic.get(partition, 0))
    return positions
