"""A correct run has no anomaly; a mutation of it has the one that the mutation must cause, and no
other one.
"""

from __future__ import annotations

from random import Random

import pytest

from streambed.judge.anomalies import ANOMALIES
from tests.support.judge.correct_runs import correct_run, recorded_run
from tests.support.judge.judged_stories import counts
from tests.support.judge.mutations import COUNTED_ONLY, MUTATIONS, Mutation

SEEDS = range(12)
RECORDED = recorded_run()
"""Of real brokers and clients: tests/judge/recorded_run/experiment.yaml."""


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_wrong_with_a_correct_run(seed: int) -> None:
    assert set(counts(correct_run(seed))) <= COUNTED_ONLY


def test_nothing_is_wrong_with_a_recorded_run() -> None:
    assert set(counts(RECORDED)) <= COUNTED_ONLY


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_causes_what_it_must_and_nothing_else(mutation: Mutation) -> None:
    applied = 0
    for seed in SEEDS:
        mutant = mutation.apply(correct_run(seed), Random(seed))
        if mutant is not None:
            applied += 1
            assert mutation.wrong_answer(set(counts(mutant))) == "", f"seed {seed}"
    assert applied


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_of_a_recorded_run_causes_what_it_must(mutation: Mutation, seed: int) -> None:
    mutant = mutation.apply(RECORDED, Random(seed))
    if mutant is None:
        assert mutation.name == "acknowledge_what_is_not_there"  # Every outcome is known in it.
        return

    assert mutation.wrong_answer(set(counts(mutant))) == ""


def test_each_anomaly_that_can_fail_is_caused_by_a_mutation() -> None:
    caused = {number for mutation in MUTATIONS for number in mutation.must}

    assert caused == {anomaly.number for anomaly in ANOMALIES} - COUNTED_ONLY
