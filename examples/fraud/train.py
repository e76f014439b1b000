"""Batch job: train two detectors. One is in force at once, the better one waits to be released."""

from __future__ import annotations

import argparse
from pathlib import Path

from models import publish
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from records import history
from transforms import (
    OF_THE_ACCOUNT,
    OF_THE_PAYMENT,
    detector,
    judged_payments,
    with_features,
    with_past,
    with_weights,
)


def examples_of(spark: SparkSession, count: int, seed: int) -> DataFrame:
    """Old payments with their features and outcomes."""
    rows = spark.createDataFrame(history(count, seed), "value string, fraud double")
    # As if they came from Kafka, so that the same transform reads them.
    places = {"topic": F.lit("history"), "partition": F.lit(0), "offset": F.lit(0)}
    numbered = rows.withColumn("number", F.split("value", ",")[0].cast("long"))
    records = rows.withColumns(places)
    outcomes = numbered.select("number", "fraud")
    payments = records.transform(judged_payments).join(outcomes, "number")
    return payments.transform(with_past).transform(with_features).transform(with_weights)


def main() -> None:
    """Learn from payments whose outcome is known."""
    parser = argparse.ArgumentParser(description="Train the detectors of fraud.")
    parser.add_argument("--models", required=True, type=Path, help="the folder of the models")
    parser.add_argument("--payments", type=int, default=20_000, help="how many to learn from")
    parser.add_argument("--seed", type=int, default=1000)
    options = parser.parse_args()
    spark = SparkSession.builder.appName("train").getOrCreate()
    examples = examples_of(spark, options.payments, options.seed).persist()
    publish(detector(OF_THE_PAYMENT).fit(examples), options.models, version=1)
    better = detector(OF_THE_PAYMENT + OF_THE_ACCOUNT).fit(examples)
    publish(better, options.models / "waiting", version=2)


if __name__ == "__main__":
    main()
