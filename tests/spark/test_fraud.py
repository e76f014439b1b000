"""The fraud example: parsing, features, state and scores against plain Python."""

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

EXAMPLE = Path(__file__).parents[2] / "examples" / "fraud"
transforms, profiles, expected, records, models, release = load_example(
    EXAMPLE, "transforms", "profiles", "expected", "records", "models", "release"
)

pytestmark = [
    pytest.mark.spark,
    pytest.mark.together(60),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]  # PySpark leaves its sockets to Python.
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
KAFKA = "topic string, partition int, offset long, value binary"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Java for the module."""
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2)
    builder = builder.config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    with spark_session(tmp_path_factory.mktemp("spark"), builder.getOrCreate) as session:
        yield session


def values(count: int) -> list[bytes]:
    sent = [records.transaction(number, Random(number))["value"] for number in range(count)]
    return [str(value).encode() for value in sent]


def rows_of(values: list[bytes | None]) -> list[tuple[str, int, int, bytes | None]]:
    return [("payments", 0, offset, value) for offset, value in enumerate(values)]


def judged(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    return spark.createDataFrame(rows_of(values), KAFKA).transform(transforms.judged_payments)


@pytest.fixture(scope="module")
def examples(spark: SparkSession) -> DataFrame:
    """Old payments with their features, outcomes and weights."""
    history = records.history(3000, seed=1000)
    payments = judged(spark, [row.encode() for row, _ in history])
    outcomes = spark.createDataFrame(
        [(number, fraud) for number, (_, fraud) in enumerate(history)],
        "number long, fraud double",
    )
    past = payments.join(outcomes, "number").transform(transforms.with_past)
    return past.transform(transforms.with_features).transform(transforms.with_weights).persist()


@pytest.fixture(scope="module")
def model(examples: DataFrame):
    features = transforms.OF_THE_PAYMENT + transforms.OF_THE_ACCOUNT
    return transforms.detector(features).fit(examples)


def test_every_malformed_record_gets_the_reason_that_plain_python_gives(spark):
    malformed = [text.replace("{number}", "3").encode() for text in records.MALFORMED]
    sent = [*malformed, b"\xff\xfe", None, *values(40)]

    reasons = [row.reason for row in judged(spark, sent).orderBy("offset").collect()]

    outcomes = [expected.payment_of(value) for value in sent]
    assert reasons == [one if isinstance(one, str) else None for one in outcomes]
    assert set(reasons) == {
        None,
        "no value",
        "not 10 fields",
        "number is none",
        "unknown type",
        "amount is no number",
        "amount is not positive",
        "amount is too large",
        "account is none",
    }


def test_the_past_of_a_payment_is_what_its_account_did_before(examples):
    bank = expected.Bank()
    rows = examples.orderBy("number").collect()

    for row in rows:
        payment = expected.payment_of(row.value)
        past = bank.profiles[payment.account]
        assert (row.paid, row.spent_cents) == (past.paid, past.spent_cents)
        past.add(payment)
    assert len(rows) == 3000


def test_both_classes_weigh_the_same_although_frauds_are_rare(examples):
    totals = {row.fraud: row for row in examples.groupBy("fraud").agg({"weight": "sum"}).collect()}

    share = examples.where("fraud = 1").count() / examples.count()
    assert 0 < share < 0.02
    assert totals[1.0][1] == pytest.approx(totals[0.0][1])


def test_a_saved_model_scores_as_plain_python_does(spark, examples, model, tmp_path):
    models.publish(model, tmp_path, version=1)
    detector = expected.Detector(tmp_path / "1")
    loaded = models.Newest(tmp_path).load(1)

    scored = loaded.transform(examples).transform(transforms.scores, 1)

    bank = expected.Bank()
    for (row, _), score in zip(
        records.history(3000, seed=1000), scored.orderBy("number").collect(), strict=True
    ):
        probability = bank.outcome(row.encode(), detector)
        assert score.probability == pytest.approx(probability, abs=1e-6)
        assert score.alert == (probability > expected.THRESHOLD)


def test_most_planted_frauds_are_found(examples, model):
    predicted = model.transform(examples).select("fraud", "prediction").collect()

    counts = Counter((bool(row.prediction), bool(row.fraud)) for row in predicted)
    found, missed = counts[True, True], counts[False, True]
    assert found / (found + missed) > 0.7


def test_profiles_in_rocksdb_survive_a_restart_and_know_repeated_payments(spark, tmp_path):
    sent = values(400)
    halves = [rows_of(sent)[:200], rows_of(sent)[200:]]
    collected = []
    for number, half in enumerate(halves):
        spark.createDataFrame(half, KAFKA).write.mode("append").parquet(str(tmp_path / "in"))
        stream = spark.readStream.schema(KAFKA).parquet(str(tmp_path / "in"))
        payments = stream.transform(transforms.judged_payments)
        query = (
            payments.transform(profiles.profiled)
            .writeStream.foreachBatch(lambda batch, _: collected.extend(batch.collect()))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .outputMode("update")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        assert len(collected) == 200 * (number + 1)

    bank, reasons = expected.Bank(), Counter()
    for row in sorted(collected, key=lambda row: row.offset):
        payment = expected.payment_of(row.value)
        if isinstance(payment, str):
            assert row.reason == payment
            continue
        past = bank.profiles[payment.account]
        assert (row.paid, row.spent_cents) == (past.paid, past.spent_cents)
        repeated = payment.number <= past.newest
        assert row.reason == ("seen before" if repeated else None)
        reasons[row.reason] += 1
        if not repeated:
            past.add(payment)
    assert reasons["seen before"] >= 4


def test_the_newest_profile_counts_the_last_payment(spark):
    payments = spark.createDataFrame(
        [("C1", 5, 100, 0, 0), ("C1", 9, 50, 1, 100), ("C2", 7, 30, 4, 70)],
        "account string, number long, cents long, paid long, spent_cents long",
    )

    rows = payments.transform(transforms.newest_profiles).collect()

    assert {tuple(row) for row in rows} == {("C1", 9, 2, 150), ("C2", 7, 5, 100)}


def test_alerts_are_the_scores_above_the_threshold(spark):
    scored = spark.createDataFrame(
        [(0, 4, 8, "C1", 100, 0.9, True, 2), (1, 5, 9, "C2", 100, 0.1, False, 2)],
        "partition int, offset long, number long, account string, cents long, "
        "probability double, alert boolean, model int",
    )

    (alert,) = scored.transform(transforms.alert_records).collect()

    assert alert.key == "0/4"
    assert json.loads(alert.value)["probability"] == 0.9
    assert scored.transform(transforms.score_records).count() == 2


def test_a_waiting_model_is_released_into_the_folder_that_the_job_watches(tmp_path):
    (tmp_path / "waiting" / "2").mkdir(parents=True)
    newest = models.Newest(tmp_path)
    assert newest.version() == 0

    release.main(str(tmp_path), "2", "0")

    assert newest.version() == 2
    assert not (tmp_path / "waiting" / "2").exists()
