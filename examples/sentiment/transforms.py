"""From what people post to opinions, DataFrame to DataFrame: the same for a batch and a stream."""

from __future__ import annotations

import string

import pyarrow as pa
from dead_letters import first_broken
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import NaiveBayes
from pyspark.ml.feature import CountVectorizer
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from textblob import TextBlob

CHARACTERS_MAX = 10_000
NOT_SAID = r"https?://\S+|@[A-Za-z0-9_]+|(?<!\S)RT(?!\S)|[#:]|\p{Cntrl}"
"""Links, names, the mark of a repeated message, tags' signs and control characters."""
SOURCE = ("source_partition", "source_offset")
OPINION = StructType().add("polarity", "double").add("subjectivity", "double")
WORD = "[a-z]+(?:'[a-z]+)?"


def readable() -> Column:
    """Whether a message has a text to read."""
    return F.col("reason").isNull()


def cleaned(raw: Column) -> Column:
    """What is left of a message to read."""
    said = F.regexp_replace(raw, NOT_SAID, " ")
    return F.trim(F.regexp_replace(said, r"\s+", " "))


def judged_messages(records: DataFrame) -> DataFrame:
    """Kafka's records with the text to read, or the reason why there is none."""
    raw = F.col("value").cast("string")
    reason = first_broken(
        {
            "no value": F.col("value").isNull(),
            "not UTF-8": ~F.is_valid_utf8(raw),
            "too long": F.length(raw) > CHARACTERS_MAX,
            "no letter": ~F.rlike("clean", F.lit(r"\p{L}")),
            "no letter of the Latin script": ~F.rlike("clean", F.lit("[A-Za-z]")),
        }
    )
    texts = records.select("topic", "partition", "offset", "value", cleaned(raw).alias("clean"))
    judged = texts.withColumn("reason", reason)
    return judged.withColumn("text", F.when(readable(), F.col("clean"))).drop("clean")


def with_words(texts: DataFrame) -> DataFrame:
    """The words of each text, in lower case."""
    # Not lower(): its first call loads the case tables of all scripts, which takes seconds.
    lower = F.translate("text", string.ascii_uppercase, string.ascii_lowercase)
    words = F.regexp_extract_all(lower, F.lit(WORD), 0)
    return texts.withColumn("words", F.coalesce(words, F.array().cast("array<string>")))


def classifier() -> Pipeline:
    """What is trained: word counts and naive Bayes; `positive` is 1 or 0."""
    counts = CountVectorizer(inputCol="words", outputCol="counts")
    bayes = NaiveBayes(featuresCol="counts", labelCol="positive", smoothing=1.0)
    return Pipeline(stages=[counts, bayes])


def with_label(judged: DataFrame, model: PipelineModel) -> DataFrame:
    """Adds the mood that the classifier reads in each text."""
    mood = F.when(F.col("prediction") == 1, "positive").otherwise("negative")
    predicted = model.transform(judged.transform(with_words))
    return predicted.select(*judged.columns, F.when(readable(), mood).alias("label"))


@F.arrow_udf(OPINION)
def textblob_opinion(texts: pa.Array) -> pa.Array:
    """Polarity from -1 to 1 and subjectivity from 0 to 1, by TextBlob's lexicon of English."""
    opinions = [text and TextBlob(text).sentiment for text in texts.to_pylist()]
    polarity = pa.array([opinion and opinion.polarity for opinion in opinions], pa.float64())
    subjectivity = pa.array(
        [opinion and opinion.subjectivity for opinion in opinions], pa.float64()
    )
    return pa.StructArray.from_arrays([polarity, subjectivity], ["polarity", "subjectivity"])


def with_polarity(judged: DataFrame) -> DataFrame:
    """Adds polarity and subjectivity of each text."""
    opinions = judged.withColumn("opinion", textblob_opinion("text"))
    return opinions.select(*judged.columns, "opinion.polarity", "opinion.subjectivity")


def sentiment_rows(opinions: DataFrame) -> DataFrame:
    """One row for each message, named by where it came from: an opinion or a reason."""
    return opinions.select(
        F.col("partition").alias("source_partition"),
        F.col("offset").alias("source_offset"),
        "text",
        "label",
        "polarity",
        "subjectivity",
        "reason",
    )


def sentiment_records(opinions: DataFrame) -> DataFrame:
    """Opinions as Kafka's records; the key tells a record that was written twice from two."""
    value = F.to_json(F.struct("text", "label", "polarity", "subjectivity"))
    key = F.concat_ws("/", "topic", "partition", "offset")
    return opinions.where(readable()).select(key.alias("key"), value.alias("value"))
