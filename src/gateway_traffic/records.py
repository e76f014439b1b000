"""The record of a gateway, its three versions, and the encodings in which it travels.

A record is identified by (gateway_id, date): a second one with the same pair is a duplicate. `ipTx`
and `ipRx` are doubles. The thesis has floats, whose 24 bits of fraction are inexact above 16.7 MB;
doubles are exact for every whole number of bytes up to 2**53.

What `ipTx` and `ipRx` mean depends on the version, and each version has its own topic:

- *cumulative*: bytes since the gateway started, wrapping at MAXIMUM = 2**40: the counter goes from
  2**40 - 1 to 0.
- *counter*: bytes since the gateway's last record.
- *rate*: bytes per second since the gateway's last record.

A gateway's first record has nothing to compare with: it carries 0 in *counter* and *rate*, and in
*cumulative* only sets the base. Traffic belongs to the day (UTC) of the record that reports it.

**Restart or wrap?** A counter that falls has wrapped or restarted. `restarts` (schema 2) tells
which: a gateway stores this small number across power cuts and adds one at each start. It needs no
clock, unlike a boot time, which gateways take before they know the time. It also reveals a restart
after which the counter has already risen past its old value, and costs one byte in Avro. The rule,
for two records of a gateway that follow each other by date:

- both `restarts` known and different: a restart; the traffic is the new value.
- both known and equal: the traffic is the rise modulo MAXIMUM.
- one not known (schema 1): a rise is a rise; a fall is a wrap if the rise modulo MAXIMUM is at most
  half of MAXIMUM for both counters, otherwise a restart. A gateway with schema 1 must therefore
  report before 2**39 bytes have passed: 73 minutes at 1 Gbit/s. With schema 2 the limit is MAXIMUM.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from gateway_traffic.errors import RecordError

MAXIMUM = 2.0**40
"""Where a cumulative counter starts again from zero; no counter ever shows it."""
RATE_MAX = 1.25e11
"""Bytes per second, 1 Tbit/s: no home has more."""
RESTARTS_UNKNOWN = -1
RESTARTS_MAX = 2**31 - 1
GATEWAY_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
DAY_MS = 86_400_000
NEWEST_SCHEMA = 2
SCHEMA_HEADER = "schema"
"""The Kafka header that names a record's encoding."""


class Version(StrEnum):
    """What the numbers of a record mean."""

    CUMULATIVE = "cumulative"
    COUNTER = "counter"
    RATE = "rate"


class Serialisation(StrEnum):
    """How a record becomes bytes."""

    JSON = "json"
    AVRO = "avro"


class Record(NamedTuple):
    """One report of one gateway, as the newest schema has it."""

    gateway_id: str
    date: int
    ipTx: float
    ipRx: float
    restarts: int = RESTARTS_UNKNOWN


@dataclass(frozen=True)
class Encoding:
    """A serialisation and the version of the schema that the writer used."""

    serialisation: Serialisation
    schema: int = NEWEST_SCHEMA

    @property
    def name(self) -> str:
        """The value of the Kafka header and the WebSocket subprotocol: `avro.2`."""
        return f"{self.serialisation}.{self.schema}"

    @property
    def content_type(self) -> str:
        """The value of HTTP's Content-Type."""
        return f"application/{self.serialisation};schema={self.schema}"


_ALL_ENCODINGS = [
    Encoding(serialisation, schema)
    for serialisation in Serialisation
    for schema in range(1, NEWEST_SCHEMA + 1)
]
ENCODINGS = {encoding.name: encoding for encoding in _ALL_ENCODINGS}
"""Every known encoding by name."""
HIGHEST = {Version.CUMULATIVE: MAXIMUM - 1, Version.COUNTER: MAXIMUM - 1, Version.RATE: RATE_MAX}
"""The highest value of ipTx and ipRx in each version."""


def topic_of(version: Version, prefix: str = "traffic") -> str:
    """The topic of a version; it holds all encodings."""
    return f"{prefix}-{version}"


def check(record: Record, version: Version, *, earliest_ms: int, latest_ms: int) -> None:
    """Raise a RecordError if a value is impossible."""
    gateway_id, date, sent, received, restarts = record
    if not GATEWAY_ID.fullmatch(gateway_id):
        raise RecordError(
            "value", f"gateway_id {gateway_id[:80]!r} is not 1 to 64 letters, digits or . _ : -"
        )
    if not earliest_ms <= date <= latest_ms:
        raise RecordError(
            "date",
            f"date {date} is not between {earliest_ms} and {latest_ms} (milliseconds since 1970)",
        )
    highest = HIGHEST[version]
    if not (0 <= sent <= highest and 0 <= received <= highest):  # Written so that NaN fails.
        raise RecordError(
            "value",
            f"ipTx {sent} and ipRx {received} are not both between 0 and {highest:.0f}, as "
            f"{version} has them",
        )
    if not RESTARTS_UNKNOWN <= restarts <= RESTARTS_MAX:
        raise RecordError(
            "value", f"restarts {restarts} is not between {RESTARTS_UNKNOWN} and {RESTARTS_MAX}"
        )
