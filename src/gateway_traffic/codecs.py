"""Records to bytes and back, in JSON and Avro, for every version of the schema.

Bytes are read with the schema of their writer and then seen as the reader's schema has them: a
field that the reader does not know is dropped, one that the writer did not know gets its default.
So old and new writers and readers share one topic.
"""

from __future__ import annotations

import io
import json
from importlib import resources
from typing import Any, cast

import fastavro
import orjson

from gateway_traffic.errors import RecordError
from gateway_traffic.records import NEWEST_SCHEMA, Encoding, Record, Serialisation


def schema_text(schema: int) -> str:
    """The Avro schema of this version, as JSON text."""
    schemas = resources.files("gateway_traffic").joinpath("schemas")
    return schemas.joinpath(f"traffic.{schema}.avsc").read_text()


SCHEMAS: dict[int, Any] = {
    number: fastavro.parse_schema(json.loads(schema_text(number)))
    for number in range(1, NEWEST_SCHEMA + 1)
}
FIELDS = {
    number: tuple(field["name"] for field in schema["fields"]) for number, schema in SCHEMAS.items()
}
_KEYS = {number: frozenset(names) for number, names in FIELDS.items()}
_NUMBERS = (float, int)
DOUBLES_BYTES = 16
"""ipTx and ipRx in Avro."""


def encode(record: Record, encoding: Encoding) -> bytes:
    """The bytes of a record, without the fields that the encoding's schema does not have."""
    fields = dict(zip(FIELDS[encoding.schema], record, strict=False))
    if encoding.serialisation is Serialisation.JSON:
        return orjson.dumps(fields)
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, SCHEMAS[encoding.schema], fields)
    return buffer.getvalue()


def decode(payload: bytes, encoding: Encoding, reader: int = NEWEST_SCHEMA) -> Record:
    """Read bytes written in `encoding` and return the record as the schema `reader` sees it.

    Raises RecordError, nothing else.
    """
    if encoding.serialisation is Serialisation.JSON:
        fields = _read_json(payload, encoding)
    else:
        fields = _read_avro(payload, encoding)
    if encoding.schema > reader:
        fields = {name: fields[name] for name in FIELDS[reader]}
    return Record(**fields)


def _read_json(payload: bytes, encoding: Encoding) -> dict[str, Any]:
    try:
        fields = orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise RecordError("malformed", f"this is not JSON: {error}") from None
    if type(fields) is not dict or fields.keys() != _KEYS[encoding.schema]:
        raise _wrong_fields(fields, encoding)
    typed = (
        type(fields["gateway_id"]) is str
        and type(fields["date"]) is int
        and type(fields.get("restarts", 0)) is int
        and type(fields["ipTx"]) in _NUMBERS
        and type(fields["ipRx"]) in _NUMBERS
    )
    if not typed:
        raise RecordError(
            "schema",
            "gateway_id is a string, date and restarts are whole numbers, ipTx and ipRx are "
            "numbers",
        )
    return fields


def _wrong_fields(fields: Any, encoding: Encoding) -> RecordError:
    names = ", ".join(sorted(fields)[:10]) if type(fields) is dict else type(fields).__name__
    expected = ", ".join(FIELDS[encoding.schema])
    return RecordError(
        "schema", f"{encoding.name} has the fields {expected}; found {names[:200] or 'none'}"
    )


def _read_avro(payload: bytes, encoding: Encoding) -> dict[str, Any]:
    stream = io.BytesIO(payload)
    try:
        fields = cast(
            dict[str, Any], fastavro.schemaless_reader(stream, SCHEMAS[encoding.schema], None)
        )
    except Exception as error:  # fastavro raises any kind of error for bytes it cannot read.
        raise RecordError(
            "malformed", f"this is not {encoding.name}: {type(error).__name__}"
        ) from None
    if stream.tell() != len(payload):
        raise RecordError(
            "malformed",
            f"this is not {encoding.name}: {len(payload) - stream.tell()} bytes are left over",
        )
    if len(payload) != _avro_bytes(fields):
        # fastavro reads numbers of any length; Java does not, so Spark could not read the record.
        raise RecordError(
            "malformed", f"this is not {encoding.name}: a number is longer than it needs to be"
        )
    return fields


def _avro_bytes(fields: dict[str, Any]) -> int:
    """How many bytes a record takes in Avro."""
    id_bytes = len(fields["gateway_id"].encode())
    numbers = _varint_bytes(id_bytes) + _varint_bytes(fields["date"])
    if "restarts" in fields:
        numbers += _varint_bytes(fields["restarts"])
    return id_bytes + DOUBLES_BYTES + numbers


def _varint_bytes(number: int) -> int:
    """How many bytes a whole number takes in Avro: seven bits in each, the sign in the first."""
    zigzag = number << 1 if number >= 0 else ~(number << 1)
    return (zigzag.bit_length() + 6) // 7 or 1
