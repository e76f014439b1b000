"""Batch job: train the classifier and publish it."""

from __future__ import annotations

import argparse
from pathlib import Path

from models import publish
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from records import training_texts
from transforms import classifier, with_words


def main() -> None:
    """Learn from texts whose mood is known."""
    parser = argparse.ArgumentParser(description="Train the classifier of moods.")
    parser.add_argument("--models", required=True, type=Path, help="the folder of the models")
    parser.add_argument("--texts", type=int, default=3000, help="how many to learn from")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    spark = SparkSession.builder.appName("train").getOrCreate()
    texts = training_texts(options.texts, options.seed)
    labelled = spark.createDataFrame(texts, "mood string, text string")
    positive = (F.col("mood") == "positive").cast("double")
    examples = labelled.withColumn("positive", positive).transform(with_words)
    publish(classifier().fit(examples), options.models, version=1)


if __name__ == "__main__":
    main()
