"""Anomalies: parts of a day in which a gateway sends much more than its received traffic suggests.

A batch job fits a linear regression (Spark ML) to an archive: the logarithm of the bytes sent per
record, from the logarithm of the bytes received and the time of day. It is fitted a second time
without outliers. The model is a few numbers, so a stream computes its score with built-in
functions: by how many standard deviations more was sent than expected. More than LIMIT is an
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
"""Least records of a part; with fewer its mean says little."""
OUTLIER = 3.0
FEATURES = ("received", "sine", "cosine")


@dataclass(frozen=True, kw_only=True)
class Model:
    """A fitted model: log(bytes sent) is the intercept plus the weighted features, with a standard
    deviation.
    """

    intercept: float
    weights: dict[str, float]
    deviation: float

    def score(self) -> Column:
        """By how many deviations a part sent more than expected; 0 if it has too few records."""
        expected = F.lit(self.intercept)
        for name, feature in _features().items():
            expected = expected + feature * self.weights[name]
        return F.when(_enough(), (_bytes_sent() - expected) / self.deviation).otherwise(0.0)


def train(parts: DataFrame) -> Model:
    """Fit a model to PARTS, without outliers."""
    first = _fit(parts)
    return _fit(parts.where(F.abs(first.score()) < OUTLIER))


def write_model(model: Model, path: Path) -> None:
    """Write a model as JSON."""
    path.write_text(json.dumps(asdict(model), indent=1) + "\n")


def read_model(path: Path) -> Model:
    """Read a model; UsageError if the file is none."""
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
    angle = F.col("part") * (2 * math.pi * PART_MS / DAY_MS)
    received = F.log1p(F.col("rx") / F.col("records"))
    return dict(zip(FEATURES, (received, F.sin(angle), F.cos(angle)), strict=True))


def _bytes_sent() -> Column:
    return F.log1p(F.col("tx") / F.col("records"))


def _enough() -> Column:
    return F.col("records") >= LEAST_RECORDS


def _fit(parts: DataFrame) -> Model:
    features = [feature.alias(name) for name, feature in _features().items()]
    examples = parts.where(_enough()).select(_bytes_sent().alias("label"), *features)
    if examples.isEmpty():
        raise UsageError(
            f"there is nothing to learn from: no gateway has an hour with {LEAST_RECORDS} records"
        )
    assembler = VectorAssembler(inputCols=list(FEATURES), outputCol="features")
    fitted = LinearRegression().fit(assembler.transform(examples))
    weights = dict(zip(FEATURES, map(float, fitted.coefficients), strict=True))
    return Model(
        intercept=float(fitted.intercept),
        weights=weights,
        deviation=float(fitted.summary.rootMeanSquaredError),
    )
