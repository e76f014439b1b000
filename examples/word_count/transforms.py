"""What the two jobs compute, DataFrame to DataFrame: the same for a batch and for a stream."""

from __future__ import annotations

import string

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

WORD = "[a-z]+(?:'[a-z]+)?"
FREQUENCY = "document string, word string, frequency long"


def lines_of(records: DataFrame) -> DataFrame:
    """Kafka's records as lines: the key is the document's name, such as rivers/1. A record without
    a key belongs to no document.
    """
    lines = records.select(
        F.col("key").cast("string").alias("document"), F.col("value").cast("string").alias("text")
    )
    return lines.where(F.col("document").isNotNull())


def word_frequencies(lines: DataFrame) -> DataFrame:
    """How often each word has occurred in each document so far. A line that is sent again counts
    again: frequencies only grow.
    """
    # Not lower(): its first call loads the case tables of all scripts, which takes seconds, and
    # words here are of a to z.
    lower = F.translate("text", string.ascii_uppercase, string.ascii_lowercase)
    words = F.regexp_extract_all(lower, F.lit(WORD), 0)
    occurrences = lines.select("document", F.explode(words).alias("word"))
    return occurrences.groupBy("document", "word").agg(F.count("*").alias("frequency"))


def frequencies_of(records: DataFrame) -> DataFrame:
    """Kafka's records as the frequencies that `frequency_records` made of them."""
    parsed = F.from_json(F.col("value").cast("string"), FREQUENCY)
    return records.select(parsed.alias("parsed")).select(
        "parsed.document", "parsed.word", "parsed.frequency"
    )


def newest_frequencies(frequencies: DataFrame) -> DataFrame:
    """One frequency for each word of each document. Frequencies only grow, so the newest is the
    largest, however often a row came.
    """
    return frequencies.groupBy("document", "word").agg(F.max("frequency").alias("frequency"))


def average_words(newest: DataFrame) -> DataFrame:
    """How many words a document of each topic has on average; the topic is the first part of the
    document's name.
    """
    topic = F.substring_index("document", "/", 1).alias("topic")
    documents, words = (
        F.countDistinct("document").alias("documents"),
        F.sum("frequency").alias("words"),
    )
    totals = newest.groupBy(topic).agg(documents, words)
    return totals.select(
        "topic", "documents", "words", (F.col("words") / F.col("documents")).alias("average")
    )


def frequency_records(frequencies: DataFrame) -> DataFrame:
    """Frequencies as Kafka's records; one key for each word of each document keeps its updates in
    order.
    """
    value = F.to_json(F.struct("document", "word", "frequency"))
    return frequencies.select(
        F.concat_ws("/", "document", "word").alias("key"), value.alias("value")
    )


def average_records(averages: DataFrame) -> DataFrame:
    """Averages as Kafka's records, keyed by topic."""
    return averages.select(
        F.col("topic").alias("key"),
        F.to_json(F.struct("topic", "documents", "words", "average")).alias("value"),
    )
