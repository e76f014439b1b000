"""The server's counters: plain numbers, rendered for Prometheus on request."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

ACK_BOUNDS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
PREFIX = "gateway_traffic_"


class Tally(Collector):
    """The counters of one server."""

    def __init__(self) -> None:
        self.acked: Counter[tuple[str, str]] = Counter()
        """Records that Kafka acknowledged, by version and encoding."""
        self.rejected: Counter[str] = Counter()
        """Records that were not as they should be, by flaw."""
        self.refused: Counter[str] = Counter()
        """Records to be sent again, by reason."""
        self.cut_off: Counter[str] = Counter()
        """Connections that were ended, by reason."""
        self.failures: Counter[str] = Counter()
        """Requests that the server failed to answer, by the class of the error."""
        self.ack_counts = [0] * (len(ACK_BOUNDS_S) + 1)
        self.ack_total_s = 0.0
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}

    def observe_ack(self, seconds: float) -> None:
        """Count one acknowledgement of Kafka, `seconds` after the record was accepted."""
        self.ack_counts[bisect_left(ACK_BOUNDS_S, seconds)] += 1
        self.ack_total_s += seconds

    def text(self) -> bytes:
        """All metrics in Prometheus's text format."""
        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        """The metrics, as prometheus_client asks for them."""
        acked = CounterMetricFamily(
            f"{PREFIX}acked", "Records acknowledged by Kafka.", labels=["version", "encoding"]
        )
        for (version, encoding), count in self.acked.items():
            acked.add_metric([version, encoding], count)
        yield acked
        for name, says, label, counts in (
            ("rejected", "Records that were not as their format says.", "flaw", self.rejected),
            ("refused", "Records that the client was told to send again.", "reason", self.refused),
            ("cut_off", "Connections that were ended.", "reason", self.cut_off),
            ("failures", "Requests that the server failed at.", "error", self.failures),
        ):
            family = CounterMetricFamily(f"{PREFIX}{name}", says, labels=[label])
            for key, count in counts.items():
                family.add_metric([key], count)
            yield family
        yield self._ack_times()
        for name, (says, value) in self.gauges.items():
            yield GaugeMetricFamily(f"{PREFIX}{name}", says, value=value())

    def _ack_times(self) -> Metric:
        buckets, below = [], 0
        for bound, count in zip([*map(str, ACK_BOUNDS_S), "+Inf"], self.ack_counts, strict=True):
            below += count
            buckets.append((bound, below))
        times = HistogramMetricFamily(
            f"{PREFIX}ack_seconds", "From a record's acceptance to Kafka's acknowledgement."
        )
        times.add_metric([], buckets, sum_value=self.ack_total_s)
        return times
