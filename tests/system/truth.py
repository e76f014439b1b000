"""What the table must hold, by a batch job over the topic."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def times_of_each_value(topics: dict[str, DataFrame]) -> DataFrame:
    """How often each value was sent."""
    return topics["words"].groupBy("value").agg(F.count("*").alias("n"))
