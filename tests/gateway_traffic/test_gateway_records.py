"""Records: what is refused, and how they travel in JSON and Avro, written and read by old and new
schemas.
"""

from __future__ import annotations

import io

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_traffic.codecs import SCHEMAS, decode, encode
from gateway_traffic.errors import RecordError
from gateway_traffic.records import ENCODINGS, MAXIMUM, Record, Version, check

GOOD = Record("gw-000001", 1_704_067_200_000, 1500.0, 2.0**39, 3)
records = st.builds(
    Record,
    gateway_id=st.from_regex(r"[A-Za-z0-9._:-]{1,64}", fullmatch=True),
    date=st.integers(0, 2**50),
    ipTx=st.floats(0, MAXIMUM - 1),
    ipRx=st.floats(0, MAXIMUM - 1),
    restarts=st.integers(-1, 2**31 - 1),
)


@pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS)
@given(record=records)
def test_a_record_is_read_as_it_was_written(encoding, record):
    known = record if encoding.schema == 2 else record._replace(restarts=-1)
    assert decode(encode(record, encoding), encoding) == known


def test_old_and_new_writers_share_a_topic_with_old_and_new_readers():
    topic = [(encoding, encode(GOOD, encoding)) for encoding in ENCODINGS.values()]

    new_reader = {encoding.name: decode(payload, encoding, reader=2) for encoding, payload in topic}
    old_reader = {encoding.name: decode(payload, encoding, reader=1) for encoding, payload in topic}

    unknown = GOOD._replace(restarts=-1)
    assert new_reader == {"json.1": unknown, "json.2": GOOD, "avro.1": unknown, "avro.2": GOOD}
    assert old_reader == dict.fromkeys(ENCODINGS, unknown)


@pytest.mark.parametrize(("writer", "reader"), [(1, 2), (2, 1)])
def test_avros_own_resolution_agrees_with_ours(writer, reader):
    encoding = ENCODINGS[f"avro.{writer}"]
    stream = io.BytesIO(encode(GOOD, encoding))

    resolved = fastavro.schemaless_reader(stream, SCHEMAS[writer], SCHEMAS[reader])

    assert Record(**resolved) == decode(encode(GOOD, encoding), encoding, reader=reader)


@pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS)
@given(payload=st.binary(max_size=80))
def test_any_bytes_are_a_record_or_a_record_error(encoding, payload):
    try:
        assert isinstance(decode(payload, encoding), Record)
    except RecordError as error:
        assert error.flaw in ("malformed", "schema")


@pytest.mark.parametrize(
    ("payload", "flaw"),
    [
        (b'{"gateway_id": "a"', "malformed"),
        (b"[]", "schema"),
        (b'{"gateway_id": "a", "date": 1, "ipTx": 1}', "schema"),
        (b'{"gateway_id": "a", "date": 1, "ipTx": 1, "ipRx": 1, "more": 1}', "schema"),
        (b'{"gateway_id": "a", "date": true, "ipTx": 1, "ipRx": 1}', "schema"),
        (b'{"gateway_id": 7, "date": 1, "ipTx": 1, "ipRx": 1}', "schema"),
        (b'{"gateway_id": "a", "date": 1, "ipTx": "1", "ipRx": 1}', "schema"),
    ],
)
def test_json_that_does_not_match_its_schema_is_reported(payload, flaw):
    with pytest.raises(RecordError) as refused:
        decode(payload, ENCODINGS["json.1"])
    assert refused.value.flaw == flaw


def test_bytes_left_over_are_not_avro():
    with pytest.raises(RecordError, match="1 bytes are left over"):
        decode(encode(GOOD, ENCODINGS["avro.2"]) + b"x", ENCODINGS["avro.2"])


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        ({"gateway_id": ""}, "value"),
        ({"gateway_id": "a b"}, "value"),
        ({"gateway_id": "a" * 65}, "value"),
        ({"date": 999}, "date"),
        ({"date": 2001}, "date"),
        ({"ipTx": -1.0}, "value"),
        ({"ipRx": float("nan")}, "value"),
        ({"ipRx": float("inf")}, "value"),
        ({"ipTx": MAXIMUM}, "value"),
        ({"restarts": -2}, "value"),
    ],
)
def test_impossible_values_are_refused(change, flaw):
    with pytest.raises(RecordError) as refused:
        check(
            GOOD._replace(**{"date": 1500} | change),
            Version.CUMULATIVE,
            earliest_ms=1000,
            latest_ms=2000,
        )
    assert refused.value.flaw == flaw
