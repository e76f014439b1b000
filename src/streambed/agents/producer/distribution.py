"""Distributions with a mean of 1, as functions from a number drawn between 0 and 1. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

NORMAL_SPREAD = 0.25
LOGNORMAL_SPREAD = 1.0
PARETO_SHAPE = 2.5
"""Above 2, so that there is a variance."""
_BELL = NormalDist()
_EDGE = 1e-12


def _bell(drawn: float) -> float:
    return _BELL.inv_cdf(min(max(drawn, _EDGE), 1 - _EDGE))


QUANTILES: dict[str, Callable[[float], float]] = {
    "constant": lambda drawn: 1.0,
    "uniform": lambda drawn: 2 * drawn,
    "exponential": lambda drawn: -math.log(1 - drawn),
    "normal": lambda drawn: 1 + NORMAL_SPREAD * _bell(drawn),
    "lognormal": lambda drawn: math.exp(LOGNORMAL_SPREAD * _bell(drawn) - LOGNORMAL_SPREAD**2 / 2),
    "pareto": lambda drawn: (PARETO_SHAPE - 1) / PARETO_SHAPE * (1 - drawn) ** (-1 / PARETO_SHAPE),
}
