"""A correct run has no anomaly; a mutation of it has the one that the mutation must cause, and no
other one.
"""

from __future__ import annotations

from random import Random

import pytest

from tests.support.judge.correct_runs import correct_run
from tests.support.judge.judged_stories import counts
from tests.support.judge.mutations import COUNTED_ONLY, MUTATIONS, Mutation

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_wrong_with_a_correct_run(seed: int) -> None:
    assert set(counts(correct_run(seed))) <= COUNTED_ONLY


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_causes_what_it_must_and_nothing_else(mutation: Mutation) -> None:
    applied = 0
    for seed in SEEDS:
        mutant = mutation.apply(correct_run(seed), Random(seed))
        if mutant is not None:
            applied += 1
            assert mutation.wrong_answer(set(counts(mutant))) == "", f"seed {seed}"
    assert applied
