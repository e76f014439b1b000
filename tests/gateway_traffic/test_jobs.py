"""The jobs' transforms against the exact answer, as a batch and as a stream."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gateway_traffic.answers import RATE_ERROR, answer, reported_traffic
from gateway_traffic.codecs import encode
from gateway_traffic.errors import ServiceError
from gateway_traffic.jobs import job as jobs
from gateway_traffic.jobs import quick_json
from gateway_traffic.jobs.archive import batch_lander, compact, write_totals
from gateway_traffic.jobs.decoding import JSON_SCHEMA, dead_letters, decode_rows, readable
from gateway_traffic.jobs.source import JobOptions
from gateway_traffic.records import ENCODINGS, Record, Version
from gateway_traffic.stores.sqlite import SqliteStore
from gateway_traffic.stores.store import disagreement, merged_totals
from gateway_traffic.traces import Homes, generate, records_of
from tests.support.gateways.streaming import READ, streamed, totals_in

pytestmark = [
    pytest.mark.spark,
    pytest.mark.together(30),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]  # PySpark leaves its sockets to Python.
TRACE = generate(
    Homes(
        gateways=12,
        days=1.3,
        restarts_per_day=3,
        wraps=0.5,
        interval_s=120,
        late=0.05,
        duplicates=0.05,
    )
)
ROWS = (
    "key binary, value binary, headers array<struct<key:string,value:binary>>, "
    "topic string, partition int, offset long, timestamp timestamp"
)
NOW = datetime(2024, 1, 3, tzinfo=UTC)
GOOD = Record("gw-1", 1_704_067_200_000, 10.0, 20.0, 3)

UNUSUAL = (
    ("{", "{ "),
    ("}", "}\n"),
    ("}", ',"ipTx":1.0}'),
    ("a:b", "a b"),
    ("a:b", ""),
    ("a:b", "a" * 65),
    ("a:b", "\\u0061"),
    ("a:b", "\u00e9"),
    ('"date":0', '"date":00'),
    ('"date":0', '"date":-1'),
    ('"date":0', '"date":1.0'),
    ('"date":0', '"date":' + "9" * 19),
    ('"ipTx":0.0', '"ipTx":0.0d'),
    ('"ipTx":0.0', '"ipTx":1e3'),
    ('"ipTx":0.0', '"ipTx":.5'),
    ('"ipTx":0.0', '"ipTx":5.'),
    ('"ipTx":0.0', '"ipTx":NaN'),
    ('"ipTx":0.0', '"ipTx":"0.0"'),
    ('"restarts":-1', '"restarts":' + "9" * 10),
    ('"restarts":-1', '"restarts":null'),
)
"""What a text of the usual form has, and what makes it another one."""


def rows(spark: SparkSession, *values: tuple[str | None, bytes | None]) -> DataFrame:
    return spark.createDataFrame(
        [
            (
                b"k",
                value,
                None if encoding is None else [("schema", encoding.encode())],
                "traffic-counter",
                0,
                place,
                NOW,
            )
            for place, (encoding, value) in enumerate(values)
        ],
        ROWS,
    )


def test_every_encoding_is_read(spark):
    written = rows(spark, *[(name, encode(GOOD, encoding)) for name, encoding in ENCODINGS.items()])

    rows_read = [tuple(row) for row in readable(decode_rows(written, Version.COUNTER)).collect()]

    assert sorted(rows_read) == sorted([GOOD._replace(restarts=-1), GOOD] * 2)


def test_the_encoding_is_found_among_other_headers(spark):
    value, others = encode(GOOD, ENCODINGS["json.2"]), [("trace", b"1"), ("schema", b"json.2")]
    written = spark.createDataFrame(
        [
            (b"k", value, headers, "traffic-counter", 0, 0, NOW)
            for headers in (others, others[::-1])
        ],
        ROWS,
    )

    assert [tuple(row) for row in readable(decode_rows(written, Version.COUNTER)).collect()] == [
        GOOD
    ] * 2


def test_json_of_the_usual_form_is_read_as_the_parser_reads_it(spark):
    usual = [
        encode(
            GOOD._replace(gateway_id=name, date=date, ipTx=size, ipRx=size / 3, restarts=restarts),
            ENCODINGS["json.2"],
        ).decode()
        for name, date, size, restarts in (
            ("a:b", 0, 0.0, -1),
            ("A.b_c-9" * 9, 10**17, 2.0**40 - 1, 0),
            ("1", 9, 123456.789, 999_999_999),
        )
    ]
    usual.append(usual[0].replace('"ipTx":0.0', '"ipTx":12'))
    others = [usual[0].replace(old, new) for old, new in UNUSUAL]
    frame = spark.createDataFrame([(text,) for text in usual + others], "value string")

    cut = frame.withColumn("pieces", quick_json.pieces(F.col("value"))).withColumn(
        "quick", quick_json.record("pieces")
    )
    rows_read = cut.select("quick", F.from_json("value", JSON_SCHEMA).alias("parsed")).collect()

    assert len(set(others)) == len(UNUSUAL)
    assert [row.quick for row in rows_read[: len(usual)]] == [
        row.parsed for row in rows_read[: len(usual)]
    ]
    assert [row.quick for row in rows_read[len(usual) :]] == [None] * len(others)


def test_an_unreadable_record_becomes_a_dead_letter_with_the_reason(spark):
    avro = encode(GOOD, ENCODINGS["avro.2"])
    bad = rows(
        spark,
        (None, b"{}"),
        ("xml.1", b"<a/>"),
        ("json.2", b"not json"),
        ("json.2", None),
        ("json.2", encode(GOOD, ENCODINGS["json.1"])),
        ("avro.2", avro[:5]),
        ("json.2", encode(GOOD._replace(gateway_id="a b"), ENCODINGS["json.2"])),
        ("json.2", encode(GOOD._replace(ipTx=-1.0), ENCODINGS["json.2"])),
        ("json.2", encode(GOOD._replace(date=1_800_000_000_000), ENCODINGS["json.2"])),
        ("json.2", encode(GOOD, ENCODINGS["json.2"])),
    )

    decoded_rows = decode_rows(bad, Version.COUNTER)
    rows_read = [
        ({header.key: bytes(header.value).decode() for header in row.headers}, row.value)
        for row in dead_letters(decoded_rows).collect()
    ]

    assert [headers["reason"] for headers, _ in rows_read] == [
        "no header tells the encoding",
        "unknown encoding xml.1",
        *["this is not json.2"] * 3,
        "this is not avro.2",
        "gateway_id is not 1 to 64 letters, digits or . _ : -",
        "ipTx and ipRx are not both between 0 and 1099511627775",
        "an impossible date or number of restarts",
    ]
    assert rows_read[1][0]["place"] == "traffic-counter/0/1" and bytes(rows_read[1][1]) == b"<a/>"
    assert readable(decoded_rows).count() == 1


def expected(version: Version, records: pl.DataFrame) -> dict[tuple[str, int], tuple[float, float]]:
    return {
        (name, day): (tx, rx)
        for name, day, tx, rx in answer(reported_traffic(version, records)).totals.iter_rows()
    }


def close(version: Version, wanted: dict[tuple[str, int], tuple[float, float]]) -> object:
    return (
        {key: pytest.approx(pair, rel=RATE_ERROR, abs=0) for key, pair in wanted.items()}
        if version is Version.RATE
        else wanted
    )


@pytest.mark.parametrize("version", list(Version))
def test_a_stream_of_a_trace_in_many_batches_gives_the_exact_answer(spark, tmp_path, version):
    records = records_of(TRACE, version).drop("due")
    store = streamed(spark, tmp_path, version, records, batches=3)

    assert totals_in(store) == close(version, expected(version, records))
    exact = answer(reported_traffic(version, records))
    first = exact.totals["day"].min()
    assert [name for name, _ in store.top(first).sent] == exact.top_sent.filter(
        pl.col("day") == first
    )["gateway_id"].to_list()


@pytest.mark.parametrize(
    ("version", "values", "total"),
    [
        (Version.COUNTER, (0.0, 10.0, 10.0, 0.0, 10.0), 20.0),  # Exactly without it.
        (
            Version.CUMULATIVE,
            (100.0, 130.0, 200.0, 200.0, 110.0),
            100.0,
        ),  # Nothing is missing: the next record has it.
        (
            Version.RATE,
            (0.0, 1.0, 1.0, 1.0, 2.0),
            6300.0,
        ),  # The next record's rate holds for its time.
    ],
)
def test_a_record_later_than_the_bound_costs_no_more_than_is_said(
    spark, tmp_path, version, values, total
):
    minutes = (
        0,
        50,
        100,
        105,
        25,
    )  # The last one's hour is over for more than half an hour, and was so in the batch before.
    made = [
        Record("gw-1", GOOD.date + 60_000 * minute, value, value, 0)
        for minute, value in zip(minutes, values, strict=True)
    ]
    records = pl.DataFrame(
        made, schema=Record._fields, orient="row", schema_overrides={"restarts": pl.Int32}
    )

    store = streamed(spark, tmp_path, version, records, batches=5, lateness="30 minutes")

    assert store.days() == [(GOOD.date // 86_400_000, total, total, 4)]


def test_the_archive_gives_the_stream_s_totals_before_and_after_compaction(spark, tmp_path):
    records = records_of(TRACE, Version.CUMULATIVE).drop("due")
    stored = streamed(spark, tmp_path, Version.CUMULATIVE, records, batches=1)
    land = batch_lander(tmp_path / "archive")
    half = len(records) // 2
    for number, some in enumerate(
        (records.head(half), records.tail(half + 1), records.tail(half + 1))
    ):
        land(
            spark.createDataFrame(some.rows(), READ), min(number, 1)
        )  # The last batch is written again.
    totals, again = SqliteStore(tmp_path / "batch.db"), SqliteStore(tmp_path / "again.db")
    first, last = (day.day for day in stored.days())

    write_totals(spark, tmp_path / "archive", Version.CUMULATIVE, totals)
    compact(spark, tmp_path / "archive", first)
    write_totals(spark, tmp_path / "archive", Version.CUMULATIVE, again)

    assert [disagreement(totals, stored, day) for day in (first, last)] == [0.0, 0.0]
    assert len(list(tmp_path.glob("archive/days/day=*/*.parquet"))) == 1
    assert merged_totals(again, stored, closed_before=last) == [
        total for day in (first, last) for total in stored.totals_of_day(day)
    ]
    assert len(records) > sum(day.records for day in again.days())  # Copies count once.


def test_a_query_that_ends_without_a_word_is_started_again_and_not_for_ever(
    spark, monkeypatch, tmp_path
):
    wanted, told, started = (
        JobOptions(version=Version.COUNTER, bootstrap="127.0.0.1:1", checkpoint=str(tmp_path)),
        [],
        [],
    )

    def stopped(*_):
        query = spark.readStream.format("rate").load().writeStream.format("noop").start()
        query.stop()
        started.append(query.runId)
        return [query]

    monkeypatch.setattr(jobs, "start", stopped)
    with pytest.raises(ServiceError, match="failed for 0 s"):
        jobs.run(
            spark,
            wanted,
            SqliteStore(tmp_path / "traffic.db"),
            lambda *_: None,
            patience_s=0.0,
            troubled=told.append,
        )

    assert len(started) == 2
    assert told == [
        "started again at its checkpoint, because it failed: a query has ended, and Spark does not "
        "say why"
    ]


def test_a_local_spark_listens_on_this_machine_alone(spark):
    java = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    inodes = {
        link.readlink().name
        for link in Path(f"/proc/{java}/fd").iterdir()
        if link.is_symlink() and link.readlink().name.startswith("socket:")
    }
    rows = [line.split() for line in Path(f"/proc/{java}/net/tcp6").read_text().splitlines()[1:]]
    rows += [line.split() for line in Path(f"/proc/{java}/net/tcp").read_text().splitlines()[1:]]
    listening = {row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes}
    addresses = {address.partition(":")[0] for address in listening}

    assert addresses <= {"0100007F", "0000000000000000FFFF00000100007F"} and addresses
    assert spark.sparkContext.uiWebUrl is None
