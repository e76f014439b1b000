"""Laws: seeing less never makes an answer better, an allowance never makes it worse."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streambed.judge.anomalies import ANOMALIES
from streambed.kinds.checks.log import Log
from streambed.plan import READ_BACKS
from tests.support.examples import examples
from tests.support.judge.correct_runs import GROUPS, correct_run
from tests.support.judge.judged_stories import counts
from tests.support.judge.mutations import MUTATIONS
from tests.support.judge.runs import run_of
from tests.support.judge.stories import TOPIC, Story

RANK = {"holds": 0, "unknown": 1, "fails": 2}
SEEDS = st.integers(0, 200)
BY_FACTS = {"change_a_replica", "hold_back_readers"}
"""Mutations of what brokers hold, which is not in a ledger."""
ON_LEDGERS = [mutation for mutation in MUTATIONS if mutation.name not in BY_FACTS]


def answer(story: Story, *allow: str) -> int:
    components = {
        name: {"kind": "producer", "node": "a", "writes": TOPIC} for name in ("plain", "careful")
    } | {name: {"kind": "consumer", "node": "b", "reads": [TOPIC]} for name in GROUPS}
    history = run_of(story, a=None, reader=None, **components)
    return RANK[Log(topic=TOPIC, allow=allow).judge(history).answer]


def without(run: Story, part: str) -> None:
    """Take a table, all rows of one group, or the read-back out of a run."""
    if part in run.rows:
        run.rows[part].clear()
        return
    seen = run.rows["seen"]
    if part == "read-back":
        seen[:] = [row for row in seen if row["consumer"] not in READ_BACKS]
    else:
        seen[:] = [row for row in seen if row["group"] != part]


@settings(max_examples=examples(25))
@given(SEEDS, st.integers(0, 10**6))
def test_a_run_with_fewer_rows_read_is_never_better(seed: int, choice: int) -> None:
    whole = correct_run(seed)
    before = counts(whole)
    seen = whole.rows["seen"]
    del seen[choice % len(seen)]

    after = counts(whole)

    assert all(after.get(name, 0) >= count for name, count in before.items() if name != "A10")


@settings(max_examples=examples(25))
@given(SEEDS, st.sampled_from(MUTATIONS), st.lists(st.sampled_from(ANOMALIES), max_size=4))
def test_an_allowance_never_makes_an_answer_worse(seed, mutation, allowed) -> None:
    mutant = mutation.apply(correct_run(seed), Random(seed))
    if mutant is None:
        return
    names = [anomaly.name for anomaly in allowed]

    assert answer(mutant, *names) <= answer(mutant)


@pytest.mark.parametrize("part", ["assignments", "commits", "seen", "sent", "read-back", *GROUPS])
@pytest.mark.parametrize("seed", range(3))
def test_a_correct_run_does_not_hold_without_a_part_of_it(seed: int, part: str) -> None:
    run = correct_run(seed)
    assert answer(run) == RANK["holds"]
    without(run, part)

    assert answer(run) > RANK["holds"]


@pytest.mark.parametrize(
    "part",
    ["assignments", "commits", "lives", "seen", "sent", "transactions", "read-back", *GROUPS],
)
@settings(max_examples=12, deadline=None)
@given(SEEDS, st.sampled_from(ON_LEDGERS))
def test_a_wrong_run_never_holds_without_a_part_of_it(part, seed, mutation) -> None:
    mutant = mutation.apply(correct_run(seed), Random(seed))
    if mutant is None or answer(mutant) != RANK["fails"]:
        return
    without(mutant, part)

    assert answer(mutant) > RANK["holds"]
