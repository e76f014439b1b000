"""The traffic agent: when packets are due."""

from __future__ import annotations

import statistics
from dataclasses import replace
from itertools import pairwise

import pytest

from streambed.agents.traffic import due_times
from streambed.record.orders import TrafficOrder

MS = 1_000_000
ORDER = TrafficOrder(
    port=1,
    to=(),
    pattern="constant",
    step_ns=0,
    size=100,
    bursts_ns=10 * MS,
    pauses_ns=40 * MS,
    flows=1,
    after_ns=0,
    lasts_ns=0,
)


def dues(pattern: str, *, step_ms: float = 1, lasts_ms: int = 1000, seed: str = "1") -> list[int]:
    order = replace(ORDER, pattern=pattern, step_ns=step_ms * MS)
    return list(due_times(order, start_ns=5 * MS, end_ns=(5 + lasts_ms) * MS, seed=seed))


def test_packets_at_a_constant_rate_are_due_at_equal_steps() -> None:
    assert dues("constant", lasts_ms=3) == [5 * MS, 6 * MS, 7 * MS]


def test_packets_in_bursts_are_due_at_equal_steps_and_then_not_at_all() -> None:
    found = dues("on_off", step_ms=4, lasts_ms=60)

    assert [due // MS - 5 for due in found] == [0, 4, 8, 50, 54, 58]


def test_random_steps_have_the_declared_mean_and_spread() -> None:
    gaps = [(after - before) / MS for before, after in pairwise(dues("poisson", lasts_ms=20_000))]

    assert statistics.fmean(gaps) == pytest.approx(1, rel=0.05)
    assert statistics.stdev(gaps) == pytest.approx(1, rel=0.05)


def test_the_same_seed_draws_the_same_steps() -> None:
    assert dues("poisson") == dues("poisson") != dues("poisson", seed="2")
