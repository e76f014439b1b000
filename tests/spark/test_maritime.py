"""The transforms of maritime monitoring against the plain Python that says what must come out."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.modules import load_example
from tests.support.spark_session import spark_session

EXAMPLE = Path(__file__).parents[2] / "examples" / "maritime"
dead_letters, records, tables, transforms, expected = load_example(
    EXAMPLE, "dead_letters", "records", "tables", "transforms", "expected"
)

pytestmark = [
    pytest.mark.spark,
    pytest.mark.together(20),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]  # PySpark leaves its sockets to Python.
KAFKA = "topic string, partition int, offset long, value binary"
HEARD, RECEIVED = "2026-03-01T12:00:30.000Z", "2026-03-01T12:00:31.000Z"
VOYAGE = {
    "class": "AIS",
    "type": 5,
    "mmsi": 257000001,
    "shiptype": 70,
    "destination": "BERGEN@@@@@@",
    "rxtime": HEARD,
    "received": RECEIVED,
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Java for the module."""
    session = SparkSession.builder.config("spark.sql.session.timeZone", "UTC")
    session = session.config("spark.sql.shuffle.partitions", 2)
    with spark_session(tmp_path_factory.mktemp("spark"), session.getOrCreate) as begun:
        yield begun


def kafka_records(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    rows = [("ais", 0, offset, value) for offset, value in enumerate(values)]
    return spark.createDataFrame(rows, KAFKA)


def report(**changes: object) -> bytes:
    return json.dumps({**VOYAGE, **changes}).encode()


def without(field: str) -> bytes:
    return json.dumps({name: of for name, of in VOYAGE.items() if name != field}).encode()


def reason_in_python(value: bytes | None) -> str | None:
    try:
        expected.voyage_of(value)
    except expected.Unusable as reason:
        return str(reason)
    return None


REPORTS = [
    (report(), None),
    (report(type=1), None),
    (report(type=27, destination=None, shiptype=None), None),
    (None, "empty"),
    (b"", "empty"),
    (report().decode().encode("utf-16"), "not UTF-8"),
    (report()[:40], "unreadable"),
    ("судно 船 ship".encode(), "unreadable"),
    (report(mmsi="257000001"), "unreadable"),
    (report(type=5.5), "unreadable"),
    (report(type=True), "unreadable"),
    (report(rxtime="yesterday"), "unreadable"),
    (b"[5]", "unreadable"),
    (report(type=28), "unknown message type"),
    (report(type=0), "unknown message type"),
    (without("type"), "unknown message type"),
    (report(mmsi=257), "not the number of a ship"),
    (report(mmsi=-257000001), "not the number of a ship"),
    (without("mmsi"), "not the number of a ship"),
    (without("rxtime"), "unknown time"),
    (report(rxtime="2099-01-01T00:00:00.000Z"), "in the future"),
    (report(rxtime="2026-03-01T11:58:30.000Z"), "late"),
    (report(shiptype=100), "unknown ship type"),
    (without("shiptype"), "unknown ship type"),
    (without("destination"), "impossible destination"),
    (report(destination="A" * 21), "impossible destination"),
    (report(destination="Tromsø"), "impossible destination"),
    (report(destination="x'; drop table"), "impossible destination"),
]


def test_each_bad_report_is_rejected_with_its_reason(spark):
    judged = transforms.judged_reports(kafka_records(spark, [value for value, _ in REPORTS]))

    rows = judged.orderBy("offset").select("reason").collect()

    wanted = [reason for _, reason in REPORTS]
    assert [row.reason for row in rows] == wanted
    assert [reason_in_python(value) for value, _ in REPORTS] == wanted


def ships_in(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    judged = transforms.judged_reports(kafka_records(spark, values))
    voyages = transforms.voyages_of(dead_letters.accepted(judged))
    return transforms.ships_by_destination(voyages)


def test_a_ship_that_reports_twice_in_a_minute_is_one_ship(spark):
    later = "2026-03-01T12:00:59.900Z"
    others = {"rxtime": later, "received": "2026-03-01T12:01:00.000Z"}
    values = [report(), report(), report(**others), report(mmsi=257000002, destination="BERGEN")]

    (row,) = ships_in(spark, values).collect()

    assert row == (datetime(2026, 3, 1, 12), "BERGEN", "cargo", 2, [257000001, 257000002])


def test_an_empty_destination_is_unknown_and_an_odd_ship_type_is_other(spark):
    (row,) = ships_in(spark, [report(destination="@@@@", shiptype=99)]).collect()

    assert (row.destination, row.kind) == ("UNKNOWN", "other")


def test_the_counts_are_those_of_plain_python(spark):
    sent = [records.report(number, Random()) for number in range(5000)]
    values = [each if isinstance(each, bytes) else each.encode() for each in sent]

    rows = ships_in(spark, values).collect()

    good = [value for value in values if reason_in_python(value) is None]
    voyages = [voyage for value in good if (voyage := expected.voyage_of(value)) is not None]
    wanted = expected.ships_of(voyages)
    found = {
        (row.minute.strftime("%Y-%m-%d %H:%M"), row.destination, row.kind): row.mmsis
        for row in rows
    }
    assert found == wanted
    assert all(row.ships == len(row.mmsis) for row in rows)
    assert len(wanted) > 300


def test_the_generator_sends_every_kind_of_defect_and_repeats_some():
    sent = [records.report(number, Random()) for number in range(5000)]

    values = [each if isinstance(each, bytes) else each.encode() for each in sent]
    assert {reason_in_python(value) for value in values} == {reason for _, reason in REPORTS}
    assert records.report(17, Random()) == sent[17]
    assert 50 < sum(one == other for one, other in itertools.pairwise(sent)) < 200


def test_records_are_keyed_by_what_they_count(spark):
    (row,) = ships_in(spark, [report()]).transform(transforms.count_records).collect()

    assert row.key == "2026-03-01 12:00/BERGEN/cargo"
    assert json.loads(row.value) == {
        "minute": "2026-03-01 12:00",
        "destination": "BERGEN",
        "kind": "cargo",
        "ships": 1,
    }


def test_an_upsert_quotes_names_and_overwrites_what_is_no_key():
    statement = tables.upsert_statement("ships", ["minute", "ships"], key=("minute",))

    assert " ".join(statement.as_string().split()) == (
        'insert into "ships" ("minute", "ships") values (%s, %s) '
        'on conflict ("minute") do update set "ships" = excluded."ships"'
    )
