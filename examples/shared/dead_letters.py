"""Records that a job cannot use, and why: the first rule that a record breaks is its reason."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

SHOWN_CHARACTERS = 500
"""How much of a record its letter holds: a hostile one may be large."""


def first_broken(rules: dict[str, Column]) -> Column:
    """The reason whose condition is the first to be true; null if none is."""
    first, *others = rules.items()
    chain = F.when(first[1], first[0])
    return reduce(lambda cases, rule: cases.when(rule[1], rule[0]), others, chain)


def accepted(judged: DataFrame) -> DataFrame:
    """The rows without a reason."""
    return judged.where(F.col("reason").isNull()).drop("reason")


def dead_letters(judged: DataFrame) -> DataFrame:
    """The rows with a reason, as records of a dead-letter topic. The key is where the record came
    from, so that a letter that was written twice can be told from two letters.
    """
    text = F.make_valid_utf8(F.col("value").cast("string"))
    record = F.substring(text, 1, SHOWN_CHARACTERS).alias("record")
    letter = F.struct("reason", "topic", "partition", "offset", record)
    rejected = judged.where(F.col("reason").isNotNull())
    return rejected.select(
        F.concat_ws("/", "topic", "partition", "offset").alias("key"),
        F.to_json(letter).alias("value"),
    )
