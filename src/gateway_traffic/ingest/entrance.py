"""The entrance: decides about each record, whichever way it came, and hands it on to Kafka."""

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
class Lane:
    """Where the records of one version and encoding go."""

    version: Version
    encoding: Encoding
    topic: str
    headers: Headers
    label: tuple[str, str]
    """Under which its records are counted."""


class Entrance:
    """Checks, counts and forwards."""

    def __init__(
        self, forwarder: Forwarder, limits: Limits, tally: Tally, tokens: Tokens | None, prefix: str
    ) -> None:
        self.forwarder = forwarder
        self.limits = limits
        self.tally = tally
        self._tokens = tokens
        self._lanes = {
            (version, each.name): _lane(version, each, prefix)
            for version in Version
            for each in ENCODINGS.values()
        }
        self._contents = {encoding.content_type: encoding.name for encoding in ENCODINGS.values()}

    def lane(self, version: Version, encoding_name: str) -> Lane:
        """The lane for an encoding that a client named."""
        lane = self._lanes.get((version, encoding_name))
        if lane is None:
            raise RecordError(
                "encoding",
                f"the encoding {encoding_name[:80]!r} is not understood; there is: "
                f"{', '.join(ENCODINGS)}",
            )
        return lane

    def lane_of_content(self, version: Version, content_type: str) -> Lane:
        """The lane for a Content-Type."""
        name = self._contents.get(content_type) or self._contents.get(
            content_type.lower().replace(" ", "")
        )
        if name is None:
            raise RecordError(
                "encoding",
                f"the Content-Type {content_type[:80]!r} is not understood; there is: "
                f"{', '.join(self._contents)}",
            )
        return self._lanes[version, name]

    def admit(self, payload: bytes, lane: Lane, authorization: str) -> Record:
        """The record, if it may pass."""
        if len(payload) > self.limits.record_bytes:
            raise RecordError(
                "too_large",
                f"a record has at most {self.limits.record_bytes} bytes; this one has "
                f"{len(payload)}",
            )
        record = decode(payload, lane.encoding)
        latest_ms = int(time.time() * 1000) + self.limits.ahead_ms
        check(record, lane.version, earliest_ms=self.limits.earliest_ms, latest_ms=latest_ms)
        if self._tokens and not self._tokens.admit(record.gateway_id, authorization):
            raise RecordError("token", "the token is not that of the gateway in the record")
        return record

    def forward(self, payload: bytes, record: Record, lane: Lane, settled: Settled) -> None:
        """Hand an admitted record to Kafka, byte for byte as it came."""
        told = partial(self._settled, lane.label, time.monotonic(), settled)
        self.forwarder.forward(lane.topic, record.gateway_id, payload, lane.headers, told)

    def _settled(self, label: tuple[str, str], began: float, settled: Settled, failed: str) -> None:
        if not failed:
            self.tally.acked[label] += 1
            self.tally.took(time.monotonic() - began)
        settled(failed)


def _lane(version: Version, encoding: Encoding, prefix: str) -> Lane:
    headers: Headers = [(SCHEMA_HEADER, encoding.name.encode())]
    return Lane(
        version, encoding, topic_of(version, prefix), headers, (str(version), encoding.name)
    )
