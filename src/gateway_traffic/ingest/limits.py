"""All limits of the ingest server."""

from __future__ import annotations

from dataclasses import dataclass

from gateway_traffic.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much one server holds, and for how long."""

    record_bytes: int = 4096
    """Size of the longest record."""
    outstanding_records: int = 50_000
    """Records given to Kafka and not yet acknowledged by it. At this many, HTTP gets 503 and
    sockets are not read.
    """
    outstanding_bytes: int = 32 << 20
    in_flight: int = 256
    """Unacknowledged records of one WebSocket; at this many it is not read."""
    connections: int = 20_000
    """Open connections. One more takes the place of the oldest without a valid record; if there is
    none, it is closed at once.
    """
    connections_per_address: int = 10_000
    """The same for one IPv4 address, or one IPv6 network of 64 bits. Many gateways may share one
    address.
    """
    handshake_s: float = 10.0
    """Time limit for a TLS handshake; then the connection is cut off."""
    first_record_s: float = 10.0
    """Time limit for the first valid record of a connection; then it is cut off."""
    body_s: float = 10.0
    """Time limit for the body of a request; then it is refused."""
    idle_s: float = 150.0
    """Time without a whole record after which a connection is cut off. Gateways report each
    minute.
    """
    hold_s: float = 10.0
    """Time limit for Kafka to acknowledge a request; then the client must send it again."""
    delivery_s: float = 120.0
    """Time limit for Kafka to take a record; then the sockets that wait for it are closed."""
    retry_after_s: int = 1
    """The Retry-After of a refused client."""
    stop_s: float = 20.0
    """After a signal to stop: time for Kafka to acknowledge what was accepted."""
    earliest_ms: int = 1_262_304_000_000
    """Records dated before 2010 are refused."""
    ahead_ms: int = 86_400_000
    """Records dated further in the future are refused."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise UsageError(f"the limit {name} must be above 0; asked for: {value}")
