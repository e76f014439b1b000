"""The transforms of the sentiment example against the plain Python that says what must come out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.modules import load_example
from tests.support.spark_session import spark_session

EXAMPLE = Path(__file__).parents[2] / "examples" / "sentiment"
transforms, expected, records, letters, models = load_example(
    EXAMPLE, "transforms", "expected", "records", "dead_letters", "models"
)

pytestmark = [
    pytest.mark.spark,
    pytest.mark.together(40),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]  # PySpark leaves its sockets to Python.
TRAINING = records.training_texts(400, seed=5)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Java for the module."""
    with spark_session(
        tmp_path_factory.mktemp("spark"), SparkSession.builder.getOrCreate
    ) as session:
        yield session


@pytest.fixture(scope="module")
def model(spark: SparkSession):
    labelled = spark.createDataFrame(
        [(text, float(mood == "positive")) for mood, text in TRAINING],
        "text string, positive double",
    )
    return transforms.classifier().fit(labelled.transform(transforms.with_words))


@pytest.fixture(scope="module")
def classifier():
    return expected.Classifier(TRAINING)


def kafka_records(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    rows = [("messages", 0, offset, value) for offset, value in enumerate(values)]
    return spark.createDataFrame(rows, "topic string, partition int, offset long, value binary")


def posted(count: int) -> list[bytes]:
    values = [records.message(number, Random(number))["value"] for number in range(count)]
    return [value.encode() if isinstance(value, str) else value for value in values]


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("RT @anna: see https://example.net/a?b=c #now", "see now"),
        ("START the ART", "START the ART"),
        ("a\x00b\r\n\tc", "a b c"),
        ("mail me@home", "mail me"),
        ("  ", ""),
    ],
)
def test_a_text_is_cleaned_of_what_nobody_said(raw, clean):
    assert expected.cleaned(raw) == clean


def test_every_message_gets_the_expected_opinions_or_reason(spark, model, classifier):
    values = [*posted(300), *records.UNREADABLE, None]

    opinions = (
        kafka_records(spark, values)
        .transform(transforms.judged_messages)
        .transform(transforms.with_label, model)
        .transform(transforms.with_polarity)
    )
    rows = opinions.transform(transforms.sentiment_rows).collect()

    outcomes = {
        row.source_offset: row.reason
        or expected.Sentiment(row.text, row.label, row.polarity, row.subjectivity)
        for row in rows
    }
    assert outcomes == {
        offset: expected.expected_outcome(value, classifier) for offset, value in enumerate(values)
    }
    assert all(row.text is None for row in rows if row.reason)


def test_close_calls_are_as_close_in_plain_python(spark, model, classifier):
    texts = [text for _, text in TRAINING[:100]]

    frame = spark.createDataFrame([(text,) for text in texts], "text string")
    rows = model.transform(frame.transform(transforms.with_words)).collect()

    for row in rows:
        words = expected.words_of(row.text)
        likelihoods = [classifier.likelihood(mood, words) for mood in ("negative", "positive")]
        assert list(row.rawPrediction) == pytest.approx(likelihoods)


def test_what_nobody_can_read_goes_to_the_dead_letters_with_its_reason(spark):
    judged = kafka_records(spark, [*records.UNREADABLE, None, b"fine"]).transform(
        transforms.judged_messages
    )

    written = judged.transform(letters.dead_letters).collect()

    reasons = Counter(json.loads(row.value)["reason"] for row in written)
    assert reasons == {
        "no letter of the Latin script": 11,
        "no letter": 5,
        "not UTF-8": 2,
        "too long": 1,
        "no value": 1,
    }
    assert len({row.key for row in written}) == len(written)


def test_eleven_scripts_are_among_them():
    assert len(records.SCRIPTS) == 11
    assert all(text.encode() in records.UNREADABLE for text in records.SCRIPTS.values())


def test_a_published_model_reads_as_before(spark, model, tmp_path):
    judged = kafka_records(spark, posted(50)).transform(transforms.judged_messages)
    newest = models.Newest(tmp_path)

    models.publish(model, tmp_path, version=3)

    assert newest.wait() == 3
    labels = judged.transform(transforms.with_label, newest.load(3)).collect()
    assert labels == judged.transform(transforms.with_label, model).collect()


def test_no_model_is_waited_for_without_a_limit(tmp_path):
    (tmp_path / "unfinished-1").mkdir()

    with pytest.raises(TimeoutError, match=r"no model in .* within 0.1 s"):
        models.Newest(tmp_path).wait(limit_s=0.1)


def test_a_sentiment_is_written_as_json_by_its_source(spark):
    opinions = spark.createDataFrame(
        [
            ("messages", 1, 7, None, "Good", "positive", 0.7, 0.6),
            ("messages", 1, 8, "no letter", None, None, None, None),
        ],
        "topic string, partition int, offset long, reason string, text string, label string, "
        "polarity double, subjectivity double",
    )

    (row,) = opinions.transform(transforms.sentiment_records).collect()

    assert row.key == "messages/1/7"
    assert json.loads(row.value) == {
        "text": "Good",
        "label": "positive",
        "polarity": 0.7,
        "subjectivity": 0.6,
    }


def test_the_classifier_reads_words_that_the_lexicon_does_not_know(classifier):
    outcome = expected.expected_outcome(b"This keyboard slaps", classifier)

    assert (outcome.label, outcome.polarity) == ("positive", 0.0)
