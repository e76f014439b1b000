"""Every bound of the ingest server in one place."""

from __future__ import annotations

from dataclasses import dataclass

from gateway_traffic.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one server holds, and for how long."""

    record_bytes: int = 4096
    """The longest record that is read."""
    outstanding_records: int = 50_000
    """Records given to Kafka and not yet acknowledged by it. At this many, HTTP gets 503 and
    sockets are not read.
    """
    outstanding_bytes: int = 32 << 20
    in_flight: int = 256
    """Unacknowledged records of one WebSocket; at this many it is not read."""
    connections: int = 20_000
    """Open connections; one more is closed at once."""
    first_request_s: float = 10.0
    """A connection that has not sent a whole first request by then is cut off."""
    body_s: float = 10.0
    """A request whose body is not there by then is refused."""
    idle_s: float = 150.0
    """A connection or socket that sends no whole record for so long is cut off. Gateways report
    each minute.
    """
    hold_s: float = 10.0
    """A request that Kafka has not acknowledged by then is told to come again."""
    delivery_s: float = 120.0
    """Kafka has so long to take a record; then sockets that wait for it are closed."""
    retry_after_s: int = 1
    """What a refused client is told to wait."""
    stop_s: float = 20.0
    """After a signal to stop: time for Kafka to acknowledge what was accepted."""
    earliest_ms: int = 1_262_304_000_000
    """No record is older than 2010."""
    ahead_ms: int = 86_400_000
    """No record is from further in the future."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise UsageError(f"the limit {name} must be above 0; asked for: {value}")
