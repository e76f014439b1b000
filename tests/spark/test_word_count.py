"""The word count's transforms against the plain Python that says what must come out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.modules import load_module
from tests.support.spark_session import spark_session

EXAMPLE = Path(__file__).parents[2] / "examples" / "word_count"
transforms = load_module(EXAMPLE / "transforms.py")
expected = load_module(EXAMPLE / "expected.py")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.together(15),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]  # PySpark leaves its sockets to Python.
RECORDS = [
    (key, text)
    for key, _, text in (
        line.partition("\t") for line in (EXAMPLE / "lines.txt").read_text().splitlines()
    )
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Java for the module."""
    with spark_session(
        tmp_path_factory.mktemp("spark"), SparkSession.builder.getOrCreate
    ) as session:
        yield session


def kafka_records(spark: SparkSession, records: list[tuple[str | None, str]]) -> DataFrame:
    pairs = [(None if key is None else key.encode(), value.encode()) for key, value in records]
    return spark.createDataFrame(pairs, "key binary, value binary")


def frequencies_from(records: DataFrame) -> DataFrame:
    return records.transform(transforms.lines_of).transform(transforms.word_frequencies)


def averages_in(frequencies: DataFrame) -> dict[str, tuple[int, int]]:
    rows = (
        frequencies.transform(transforms.newest_frequencies)
        .transform(transforms.average_words)
        .collect()
    )
    assert all(row.average == row.words / row.documents for row in rows)
    return {row.topic: (row.documents, row.words) for row in rows}


def test_words_are_counted_by_document_in_any_case():
    records = [
        ("rivers/1", "The river, the RIVER"),
        ("rivers/2", "the sea doesn't mind"),
        (None, "the nobody"),
    ]

    assert expected.expected_frequencies(records) == {
        ("rivers/1", "the"): 2,
        ("rivers/1", "river"): 2,
        **{("rivers/2", word): 1 for word in ("the", "sea", "doesn't", "mind")},
    }
    assert expected.expected_averages(records) == {"rivers": (2, 8)}


def test_spark_counts_the_words_that_are_expected(spark):
    records = [*RECORDS, *RECORDS[:10], (None, "no document"), ("empty/1", "... 42 ...")]

    rows = frequencies_from(kafka_records(spark, records)).collect()

    assert {
        (row.document, row.word): row.frequency for row in rows
    } == expected.expected_frequencies(records)


def test_a_text_sent_n_times_has_n_times_the_average(spark):
    once, thrice = (
        averages_in(frequencies_from(kafka_records(spark, RECORDS * rounds))) for rounds in (1, 3)
    )

    assert once == expected.expected_averages(RECORDS)
    assert thrice == {topic: (documents, 3 * words) for topic, (documents, words) in once.items()}


def test_frequencies_survive_the_way_through_kafka(spark):
    frequencies = frequencies_from(kafka_records(spark, RECORDS[:5]))

    written = frequencies.transform(transforms.frequency_records)

    assert sorted(written.transform(transforms.frequencies_of).collect()) == sorted(
        frequencies.collect()
    )
    assert {row.key for row in written.collect()} == {
        f"{document}/{word}" for document, word in expected.expected_frequencies(RECORDS[:5])
    }


def test_averages_are_written_as_json_by_topic(spark):
    newest = spark.createDataFrame(
        [("rain/1", "the", 3), ("rain/2", "sky", 2)], transforms.FREQUENCY
    )

    (row,) = (
        newest.transform(transforms.average_words).transform(transforms.average_records).collect()
    )

    assert (row.key, json.loads(row.value)) == (
        "rain",
        {"topic": "rain", "documents": 2, "words": 5, "average": 2.5},
    )


def test_rows_that_a_stream_emits_again_leave_the_averages_exact(spark, tmp_path):
    (tmp_path / "lines").mkdir()
    for number in range(2):
        lines = [json.dumps({"key": key, "value": value}) for key, value in RECORDS]
        (tmp_path / "lines" / f"{number}.json").write_text("\n".join(lines))
    stream = (
        spark.readStream.schema("key string, value string")
        .option("maxFilesPerTrigger", 1)
        .json(str(tmp_path / "lines"))
    )
    emitting = (
        frequencies_from(stream)
        .writeStream.outputMode("update")
        .format("memory")
        .queryName("emitted")
    )

    emitting.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(
        availableNow=True
    ).start().awaitTermination(60)

    emitted = spark.table("emitted")
    assert emitted.count() == 2 * len(expected.expected_frequencies(RECORDS))
    assert averages_in(emitted.union(emitted)) == expected.expected_averages(RECORDS * 2)
