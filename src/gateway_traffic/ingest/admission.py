"""Admission of records, for HTTP and WebSocket: check each one and forward it to Kafka."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from gateway_traffic.codecs import decode
from gateway_traffic.errors import RecordError
from gateway_traffic.ingest.forwarder import Forwarder, Headers, Settled
from gateway_traffic.ingest.limits import Limits
from gateway_traffic.ingest.tally import Tally
from gateway_traffic.records import (
    ENCODINGS,
    SCHEMA_HEADER,
    Encoding,
    Record,
    Version,
    check,
    topic_of,
)
from gateway_traffic.tokens import Tokens

STATUS = {
    "malformed": 400,
    "token": 401,
    "too_large": 413,
    "encoding": 415,
    "schema": 422,
    "value": 422,
    "date": 422,
    "gateway": 422,
}
"""The HTTP status for each flaw of a record; a socket is closed with 4000 more."""


@dataclass(frozen=True)
class IngestRoute:
    """The topic and headers for the records of one version and encoding."""

    version: Version
    encoding: Encoding
    topic: str
    headers: Headers
    label: tuple[str, str]
    """Version and encoding: the labels of its counter."""


class Admission:
    """Check records, count them and forward them to Kafka."""

    def __init__(
        self, forwarder: Forwarder, limits: Limits, tally: Tally, tokens: Tokens | None, prefix: str
    ) -> None:
        self.forwarder = forwarder
        self.limits = limits
        self.tally = tally
        self._tokens = tokens
        self._routes = {
            (version, encoding.name): _make_route(version, encoding, prefix)
            for version in Version
            for encoding in ENCODINGS.values()
        }
        self._contents = {encoding.content_type: encoding.name for encoding in ENCODINGS.values()}

    def route(self, version: Version, encoding_name: str) -> IngestRoute:
        """The route for an encoding name; RecordError if it is unknown."""
        route = self._routes.get((version, encoding_name))
        if route is None:
            raise RecordError(
                "encoding",
                f"the encoding {encoding_name[:80]!r} is not understood; there is: "
                f"{', '.join(ENCODINGS)}",
            )
        return route

    def route_for_content_type(self, version: Version, content_type: str) -> IngestRoute:
        """The route for a Content-Type; RecordError if it is unknown."""
        normalised = content_type.lower().replace(" ", "")
        name = self._contents.get(content_type) or self._contents.get(normalised)
        if name is None:
            raise RecordError(
                "encoding",
                f"the Content-Type {content_type[:80]!r} is not understood; there is: "
                f"{', '.join(self._contents)}",
            )
        return self._routes[version, name]

    def admit(self, payload: bytes, route: IngestRoute, authorization: str) -> Record:
        """Decode and check a record; RecordError if it is refused."""
        if len(payload) > self.limits.record_bytes:
            raise RecordError(
                "too_large",
                f"a record has at most {self.limits.record_bytes} bytes; this one has "
                f"{len(payload)}",
            )
        record = decode(payload, route.encoding)
        latest_ms = int(time.time() * 1000) + self.limits.ahead_ms
        check(record, route.version, earliest_ms=self.limits.earliest_ms, latest_ms=latest_ms)
        if self._tokens and not self._tokens.admit(record.gateway_id, authorization):
            raise RecordError("token", "the token is not that of the gateway in the record")
        return record

    def forward(self, payload: bytes, record: Record, route: IngestRoute, settled: Settled) -> None:
        """Forward an admitted record to Kafka, byte for byte as it came."""
        on_settled = partial(self._count_settled, route.label, time.monotonic(), settled)
        self.forwarder.forward(route.topic, record.gateway_id, payload, route.headers, on_settled)

    def _count_settled(
        self, label: tuple[str, str], began: float, settled: Settled, error: str | None
    ) -> None:
        if error is None:
            self.tally.acked[label] += 1
            self.tally.observe_ack(time.monotonic() - began)
        settled(error)


def _make_route(version: Version, encoding: Encoding, prefix: str) -> IngestRoute:
    headers: Headers = [(SCHEMA_HEADER, encoding.name.encode())]
    label = (str(version), encoding.name)
    return IngestRoute(version, encoding, topic_of(version, prefix), headers, label)
