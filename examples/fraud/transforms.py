"""From rows of CSV to scores, DataFrame to DataFrame: the same for a batch and for a stream."""

from __future__ import annotations

from dead_letters import first_broken
from pyspark.ml import Pipeline
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.functions import vector_to_array
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

SOURCE = ("topic", "partition", "offset", "value")
FIELDS = 10
CENTS_MAX = 10**12
NUMBER = "[0-9]{1,18}"
TYPE = "(?:PAYMENT|CASH_OUT|TRANSFER|CASH_IN|DEBIT)"
AMOUNT = r"-?[0-9]{1,15}\.[0-9]{2}"
ACCOUNT = "C[0-9]{1,9}"
THRESHOLD = 0.9
"""Somebody looks at each alert: with this one in three is false, with 0.5 it would be two."""
OUTGOING = ("CASH_OUT", "TRANSFER")
OF_THE_PAYMENT = ("magnitude", "outgoing", "emptied")
OF_THE_ACCOUNT = ("times_usual", "newcomer")


def field(position: int, form: str) -> Column:
    """A field of a CSV row; null if it has another form."""
    text = F.get("fields", F.lit(position))
    return F.when(text.rlike(rf"\A{form}\z"), text)


def cents(amount: Column) -> Column:
    """An amount such as 12.50 in whole cents."""
    return (amount.cast("decimal(18,2)") * 100).cast("long")


def judged_payments(records: DataFrame) -> DataFrame:
    """Kafka's records as payments, and the reason if one is none."""
    fields = F.split(F.col("value").cast("string"), ",")
    rows = records.select(*SOURCE, fields.alias("fields"))
    payments = rows.select(
        *SOURCE,
        "fields",
        field(0, NUMBER).cast("long").alias("number"),
        field(2, TYPE).alias("type"),
        cents(field(3, AMOUNT)).alias("cents"),
        field(4, ACCOUNT).alias("account"),
        cents(field(6, AMOUNT)).alias("left_cents"),
    )
    reason = first_broken(
        {
            "no value": F.col("value").isNull(),
            f"not {FIELDS} fields": F.size("fields") != FIELDS,
            "number is none": F.col("number").isNull(),
            "unknown type": F.col("type").isNull(),
            "amount is no number": F.col("cents").isNull() | F.col("left_cents").isNull(),
            "amount is not positive": F.col("cents") <= 0,
            "amount is too large": F.col("cents") > CENTS_MAX,
            "account is none": F.col("account").isNull(),
        }
    )
    return payments.withColumn("reason", reason).drop("fields")


def with_past(payments: DataFrame) -> DataFrame:
    """What each account had done before each payment, for payments that are all there: in a stream
    the profiles know it.
    """
    earlier = (
        Window.partitionBy("account").orderBy("number").rowsBetween(Window.unboundedPreceding, -1)
    )
    spent = F.coalesce(F.sum("cents").over(earlier), F.lit(0))
    return payments.withColumns({"paid": F.count("*").over(earlier), "spent_cents": spent})


def with_features(payments: DataFrame) -> DataFrame:
    """What a model looks at."""
    usual_cents = F.col("spent_cents") / F.col("paid")
    newcomer = F.col("paid") == 0
    times_usual = F.when(newcomer, 0.0).otherwise(F.log2(F.col("cents") / usual_cents))
    return payments.withColumns(
        {
            "magnitude": F.log2("cents"),
            "outgoing": F.col("type").isin(*OUTGOING).cast("double"),
            "emptied": (F.col("left_cents") == 0).cast("double"),
            "times_usual": times_usual,
            "newcomer": newcomer.cast("double"),
        }
    )


def with_weights(examples: DataFrame) -> DataFrame:
    """Frauds are rare: both classes weigh the same in all."""
    share = examples.agg(F.avg("fraud")).first()[0]
    weight = F.when(F.col("fraud") == 1, 1 / share).otherwise(1 / (1 - share))
    return examples.withColumn("weight", weight)


def detector(features: tuple[str, ...]) -> Pipeline:
    """What is trained: logistic regression on these features."""
    assembler = VectorAssembler(inputCols=list(features), outputCol="features")
    regression = LogisticRegression(
        labelCol="fraud", weightCol="weight", maxIter=15, regParam=1e-4, threshold=THRESHOLD
    )
    return Pipeline(stages=[assembler, regression])


def scores(predicted: DataFrame, version: int) -> DataFrame:
    """What a model thinks of each payment."""
    probability = vector_to_array("probability")[1]
    return predicted.select(
        "partition",
        "offset",
        "number",
        "account",
        "cents",
        F.round(probability, 6).alias("probability"),
        (F.col("prediction") == 1).alias("alert"),
        F.lit(version).alias("model"),
    )


def score_records(scored: DataFrame) -> DataFrame:
    """Scores as Kafka's records; the key is where the payment came from."""
    fields = ("number", "account", "cents", "probability", "alert", "model")
    key = F.concat_ws("/", "partition", "offset")
    return scored.select(key.alias("key"), F.to_json(F.struct(*fields)).alias("value"))


def alert_records(scored: DataFrame) -> DataFrame:
    """The scores that somebody must look at."""
    return scored.where("alert").transform(score_records)


def newest_profiles(payments: DataFrame) -> DataFrame:
    """What is known of each account after its last payment here."""
    after = F.struct(
        "number",
        (F.col("paid") + 1).alias("paid"),
        (F.col("spent_cents") + F.col("cents")).alias("spent_cents"),
    )
    newest = payments.groupBy("account").agg(F.max(after).alias("newest"))
    return newest.select("account", "newest.number", "newest.paid", "newest.spent_cents")
