"""Anomalies: parts of a day in which a gateway sends much more than what it receives lets expect.

A batch job learns from an archive how the logarithm of what a gateway sends for each record follows
from the logarithm of what it receives and from the time of day: Spark ML's linear regression,
fitted a second time without what lies far off. The model is a few numbers, so a stream scores with
built-in functions: how many standard deviations more was sent than expected. More than LIMIT is an
anomaly.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.ml.feature import VectorAssembler
from pyspark.ml.regression import LinearRegression
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gateway_traffic.errors import UsageError
from gateway_traffic.jobs.transforms import PART_MS
from gateway_traffic.records import DAY_MS

LIMIT = 5.0
LEAST_RECORDS = 10
"""Of a part; with fewer its mean says little."""
FAR_OFF = 3.0
FEATURES = ("received", "sine", "cosine")


@dataclass(frozen=True, kw_only=True)
class Model:
    """What was learnt: the logarithm of what is sent is the intercept plus the weighted features,
    give or take the deviation.
    """

    intercept: float
    weights: dict[str, float]
    deviation: float

    def score(self) -> Column:
        """How many deviations more than expected a part sent; 0 if it has too few records."""
        expected = F.lit(self.intercept)
        for name, feature in _features().items():
            expected = expected + feature * self.weights[name]
        return F.when(_enough(), (_sent() - expected) / self.deviation).otherwise(0.0)


def train(parts: DataFrame) -> Model:
    """Learn from PARTS."""
    first = _fitted(parts)
    return _fitted(parts.where(F.abs(first.score()) < FAR_OFF))


def write_model(model: Model, path: Path) -> None:
    """Keep a model as JSON."""
    path.write_text(json.dumps(asdict(model), indent=1) + "\n")


def read_model(path: Path) -> Model:
    """A model that was kept."""
    try:
        model = Model(**json.loads(path.read_text()))
        known = set(model.weights) == set(FEATURES)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} cannot be read as a model: {error}. Make one: gateway-traffic train"
        ) from None
    if not known:
        raise UsageError(
            f"{path} is a model of {', '.join(model.weights)}; wanted is {', '.join(FEATURES)}: "
            "train it again"
        )
    return model


def _features() -> dict[str, Column]:
    turn = F.col("part") * (2 * math.pi * PART_MS / DAY_MS)
    return dict(
        zip(
            FEATURES,
            (F.log1p(F.col("rx") / F.col("records")), F.sin(turn), F.cos(turn)),
            strict=True,
        )
    )


def _sent() -> Column:
    return F.log1p(F.col("tx") / F.col("records"))


def _enough() -> Column:
    return F.col("records") >= LEAST_RECORDS


def _fitted(parts: DataFrame) -> Model:
    examples = parts.where(_enough()).select(
        _sent().alias("label"), *[feature.alias(name) for name, feature in _features().items()]
    )
    if examples.isEmpty():
        raise UsageError(
            f"there is nothing to learn from: no gateway has an hour with {LEAST_RECORDS} records"
        )
    learnt = LinearRegression().fit(
        VectorAssembler(inputCols=list(FEATURES), outputCol="features").transform(examples)
    )
    weights = dict(zip(FEATURES, map(float, learnt.coefficients), strict=True))
    return Model(
        intercept=float(learnt.intercept),
        weights=weights,
        deviation=float(learnt.summary.rootMeanSquaredError),
    )
