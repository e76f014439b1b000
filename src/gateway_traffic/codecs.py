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
    """The Avro schema of this version, as committed."""
    return (
        resources.files("gateway_traffic").joinpath("schemas", f"traffic.{schema}.avsc").read_text()
    )


SCHEMAS: dict[int, Any] = {
    number: fastavro.parse_schema(json.loads(schema_text(number)))
    for number in range(1, NEWEST_SCHEMA + 1)
}
FIELDS = {
    number: tuple(field["name"] for field in schema["fields"]) for number, schema in SCHEMAS.items()
}
_KEYS = {number: frozenset(names) for number, names in FIELDS.items()}
_NUMBERS = (float, int)


def encode(record: Record, encoding: Encoding) -> bytes:
    """The bytes of a record. What the encoding's schema does not have is left out."""
    fields = dict(zip(FIELDS[encoding.schema], record, strict=False))
    if encoding.serialisation is Serialisation.JSON:
        return orjson.dumps(fields)
    written = io.BytesIO()
    fastavro.schemaless_writer(written, SCHEMAS[encoding.schema], fields)
    return written.getvalue()


def decode(payload: bytes, encoding: Encoding, reader: int = NEWEST_SCHEMA) -> Record:
    """The record in these bytes, which `encoding` tells how to read, as the schema `reader` sees
    it. Raises RecordError, nothing else.
    """
    fields = (
        _read_json(payload, encoding)
        if encoding.serialisation is Serialisation.JSON
        else _read_avro(payload, encoding)
    )
    if encoding.schema > reader:
        fields = {name: fields[name] for name in FIELDS[reader]}
    return Record(**fields)


def _read_json(payload: bytes, encoding: Encoding) -> dict[str, Any]:
    try:
        fields = orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise RecordError("malformed", f"this is not JSON: {error}") from None
    if type(fields) is not dict or fields.keys() != _KEYS[encoding.schema]:
        found = ", ".join(sorted(fields)[:10]) if type(fields) is dict else type(fields).__name__
        raise RecordError(
            "schema",
            f"{encoding.name} has the fields {', '.join(FIELDS[encoding.schema])}; found "
            f"{found[:200] or 'none'}",
        )
    whole = type(fields["date"]) is int and type(fields.get("restarts", 0)) is int
    if (
        not whole
        or type(fields["gateway_id"]) is not str
        or type(fields["ipTx"]) not in _NUMBERS
        or type(fields["ipRx"]) not in _NUMBERS
    ):
        raise RecordError(
            "schema",
            "gateway_id is a string, date and restarts are whole numbers, ipTx and ipRx are "
            "numbers",
        )
    return fields


def _read_avro(payload: bytes, encoding: Encoding) -> dict[str, Any]:
    stream = io.BytesIO(payload)
    try:
        fields = cast(
            dict[str, Any], fastavro.schemaless_reader(stream, SCHEMAS[encoding.schema], None)
        )
    except Exception as error:  # Bytes of strangers: fastavro raises whatever it stumbles over.
        raise RecordError(
            "malformed", f"this is not {encoding.name}: {type(error).__name__}"
        ) from None
    if stream.tell() != len(payload):
        raise RecordError(
            "malformed",
            f"this is not {encoding.name}: {len(payload) - stream.tell()} bytes are left over",
        )
    return fields
