"""The transforms of ride selection against the plain Python that says what must come out."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.modules import load_example
from tests.support.spark_session import spark_session

EXAMPLE = Path(__file__).parents[2] / "examples" / "rides"
city, dead_letters, records, transforms, expected = load_example(
    EXAMPLE, "city", "dead_letters", "records", "transforms", "expected"
)

pytestmark = [
    pytest.mark.spark,
    pytest.mark.together(25),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]  # PySpark leaves its sockets to Python.
KAFKA = (
    "topic string, partition int, offset long, value binary, "
    "headers array<struct<key: string, value: binary>>"
)
NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
RIDE = "7,END,2013-01-01T12:00:00Z,2013-01-01T11:40:00Z,-74.0,40.75,-73.98,40.76,1,2013001,2013002"
FARE = "7,2013000001,2013000002,2013-01-01T11:40:00Z,CRD,2.50,0.00,14.50"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Java for the module."""
    session = SparkSession.builder.config("spark.sql.session.timeZone", "UTC")
    session = session.config("spark.sql.shuffle.partitions", 2)
    with spark_session(tmp_path_factory.mktemp("spark"), session.getOrCreate) as begun:
        yield begun


def kafka_records(
    spark: SparkSession, topic: str, rows: list[tuple[datetime, bytes | None]]
) -> DataFrame:
    return spark.createDataFrame(
        [
            (topic, 0, offset, value, [("received", received.isoformat().encode())])
            for offset, (received, value) in enumerate(rows)
        ],
        KAFKA,
    )


def reasons(judged: DataFrame) -> list[str | None]:
    return [row.reason for row in judged.orderBy("offset").select("reason").collect()]


def reason_in_python(read: Any, value: bytes | None, received: datetime) -> str | None:
    try:
        read(value, received)
    except expected.Unusable as reason:
        return str(reason)
    return None


def changed(row: str, field: int, text: str) -> bytes:
    fields = row.split(",")
    fields[field] = text
    return ",".join(fields).encode()


BAD_RIDES = [
    (None, "empty"),
    (b"", "empty"),
    (RIDE.encode("utf-16"), "not UTF-8"),
    (RIDE.rsplit(",", 1)[0].encode(), "wrong number of fields"),
    (f"{RIDE},{RIDE}".encode(), "wrong number of fields"),
    ("Поездка;ռայդ;乗車".encode(), "wrong number of fields"),
    (changed(RIDE, 0, "seven"), "unreadable field"),
    (changed(RIDE, 2, "01-01-13 0:00"), "unreadable field"),
    (changed(RIDE, 6, ""), "unreadable field"),
    (changed(RIDE, 1, "PAUSE"), "neither START nor END"),
    (changed(RIDE, 2, "2099-01-01T00:00:00Z"), "in the future"),
    (changed(RIDE, 2, "2013-01-01T11:41:00Z"), "late"),
    (changed(RIDE, 6, "0.0"), "outside the city"),
    (changed(RIDE, 7, "NaN"), "outside the city"),
    (changed(RIDE, 3, "2013-01-01T09:00:00Z"), "impossible duration"),
    (changed(RIDE, 3, "2013-01-01T12:00:00Z"), "impossible duration"),
]
BAD_FARES = [
    (b"7", "wrong number of fields"),
    (changed(FARE, 5, "'; drop table averages; --"), "unreadable field"),
    (changed(FARE, 3, "2013-01-01T09:00:00Z"), "late"),
    (changed(FARE, 3, "2013-01-02T09:00:00Z"), "in the future"),
    (changed(FARE, 5, "-2.50"), "negative amount"),
    (changed(FARE, 7, "99999999.00"), "impossible amount"),
]


@pytest.mark.parametrize(
    ("judge", "read", "good", "bad", "received"),
    [
        ("judged_rides", "ride_of", RIDE, BAD_RIDES, NOON + timedelta(minutes=5)),
        ("judged_fares", "fare_of", FARE, BAD_FARES, NOON - timedelta(minutes=10)),
    ],
)
def test_each_bad_row_is_rejected_with_its_reason(spark, judge, read, good, bad, received):
    values = [good.encode(), *(value for value, _ in bad)]
    rows = kafka_records(spark, "rows", [(received, value) for value in values])

    judged = getattr(transforms, judge)(rows)

    wanted = [None, *(reason for _, reason in bad)]
    assert reasons(judged) == wanted
    in_python = [reason_in_python(getattr(expected, read), value, received) for value in values]
    assert in_python == wanted


def test_a_record_without_a_time_of_arrival_is_rejected(spark):
    rows = spark.createDataFrame([("rides", 0, 0, RIDE.encode(), [])], KAFKA)

    assert reasons(transforms.judged_rides(rows)) == ["unknown time of arrival"]


def test_a_dead_letter_says_why_and_where_and_what(spark):
    rows = kafka_records(spark, "rides", [(NOON, b"too\xff\xfe few"), (NOON, b"x," * 900)])

    letters = dead_letters.dead_letters(transforms.judged_rides(rows)).orderBy("key").collect()

    garbled, long = (json.loads(letter.value) for letter in letters)
    assert [letter.key for letter in letters] == ["rides/0/0", "rides/0/1"]
    assert garbled["reason"] == "not UTF-8"
    assert garbled["record"].startswith("too")
    assert (long["offset"], len(long["record"])) == (1, 500)


BAD_PLACES = [
    ('{"name": "Line", "polygon": [[0, 0], [1, 1]]}', "fewer than three corners"),
    ('{"name": "Spot", "polygon": [[0, 0], [0, 0], [0, 0]]}', "fewer than three corners"),
    ('{"name": "Flat", "polygon": [[0], [1], [2]]}', "a corner is not two numbers"),
    ('{"name": "Hole", "polygon": [[0, 0], [1, null], [1, 1]]}', "a corner is not two numbers"),
    ('{"name": "None"}', "not a neighbourhood"),
    ("not JSON", "not a neighbourhood"),
]


def test_a_polygon_that_is_none_is_rejected(spark):
    lines = [(json.dumps(city.neighbourhoods()[0]), None), *BAD_PLACES]
    frame = spark.createDataFrame([("\n".join(line for line, _ in lines),)], "value string")

    assert reasons(transforms.judged_neighbourhoods(frame)) == [reason for _, reason in lines]


def test_the_map_is_what_the_city_makes():
    lines = (EXAMPLE / "map" / "neighbourhoods.jsonl").read_text().splitlines()
    made = [*city.neighbourhoods(), city.FERRY_LINE]

    assert lines == [json.dumps(place) for place in made]
    assert len(lines) == 44


def arrived(stream: str, count: int) -> list[tuple[datetime, bytes]]:
    rows = itertools.islice(records.arrivals(*records.STREAMS[stream]), count)
    return [(arrival.received, arrival.row) for arrival in rows]


def usable(read: Any, rows: list[tuple[datetime, bytes]]) -> list[Any]:
    good = [(at, row) for at, row in rows if reason_in_python(read, row, at) is None]
    return [each for at, row in good if (each := read(row, at)) is not None]


def places_in(spark: SparkSession) -> DataFrame:
    text = (EXAMPLE / "map" / "neighbourhoods.jsonl").read_text()
    judged = transforms.judged_neighbourhoods(spark.createDataFrame([(text,)], "value string"))
    return dead_letters.accepted(judged)


def test_the_averages_are_those_of_plain_python(spark):
    rides, fares = arrived("rides", 3000), arrived("fares", 1500)
    judged_rides = transforms.judged_rides(kafka_records(spark, "rides", rides))
    judged_fares = transforms.judged_fares(kafka_records(spark, "fares", fares))

    ends = transforms.ends_of_rides(dead_letters.accepted(judged_rides), places_in(spark))
    tips = transforms.tips_of_fares(dead_letters.accepted(judged_fares))
    with_tips = transforms.rides_with_tips(ends, tips)
    rows = with_tips.transform(transforms.average_tips).collect()

    wanted = expected.answer_of(
        usable(expected.ride_of, rides),
        usable(expected.fare_of, fares),
        {place["name"]: place["polygon"] for place in city.neighbourhoods()},
    )
    assert {
        (row.start.strftime("%Y-%m-%d %H:%M"), row.neighbourhood): (row.rides, row.tips)
        for row in rows
    } == {key: (average.rides, average.tips) for key, average in wanted.averages.items()}
    assert len(wanted.averages) > 500
    assert len({neighbourhood for _, neighbourhood in wanted.averages}) == 44


def test_records_have_the_key_and_the_exact_average(spark):
    averages = spark.createDataFrame(
        [(datetime(2013, 1, 1, 12, 10), "Elm Gate", 3, Decimal("7.50"), Decimal("2.500000"))],
        "start timestamp, neighbourhood string, rides long, tips decimal(20,2), tip decimal(14,6)",
    )

    (row,) = averages.transform(transforms.average_records).collect()

    assert row.key == "2013-01-01 12:10/Elm Gate"
    assert json.loads(row.value) == {
        "start": "2013-01-01 12:10",
        "neighbourhood": "Elm Gate",
        "rides": 3,
        "tips": 7.5,
        "tip": 2.5,
    }


def test_the_generator_sends_the_same_in_any_order_and_every_kind_of_defect():
    there = [records.ride(number, None)["value"] for number in range(4000)]

    assert records.ride(17, None)["value"] == there[17]
    reasons_sent = {
        reason_in_python(expected.ride_of, row, at) for at, row in arrived("rides", 4000)
    }
    assert reasons_sent >= {None, *(reason for _, reason in BAD_RIDES)}
    fares_sent = {reason_in_python(expected.fare_of, row, at) for at, row in arrived("fares", 4000)}
    assert fares_sent >= {None, *(reason for _, reason in BAD_FARES)}
