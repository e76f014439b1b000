"""Laws: seeing less never makes an answer better, an allowance never makes it worse."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from streambed.judge.anomalies import ANOMALIES
from streambed.kinds.checks.log import Log
from tests.support.judge.correct_runs import correct_run
from tests.support.judge.judged_stories import counts
from tests.support.judge.mutations import MUTATIONS
from tests.support.judge.runs import run_of
from tests.support.judge.stories import TOPIC, Story

RANK = {"holds": 0, "unknown": 1, "fails": 2}
SEEDS = st.integers(0, 200)


def answer(story: Story, *allow: str) -> int:
    components = {
        name: {"kind": "producer", "node": "a", "writes": TOPIC} for name in ("plain", "careful")
    } | {name: {"kind": "consumer", "node": "b", "reads": [TOPIC]} for name in ("one", "two")}
    history = run_of(story, a=None, reader=None, **components)
    return RANK[Log(topic=TOPIC, allow=allow).judge(history).answer]


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(0, 10**6))
def test_a_run_with_fewer_rows_read_is_never_better(seed: int, choice: int) -> None:
    whole = correct_run(seed)
    before = counts(whole)
    seen = whole.rows["seen"]
    del seen[choice % len(seen)]

    after = counts(whole)

    assert all(after.get(name, 0) >= count for name, count in before.items() if name != "A10")


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.sampled_from(MUTATIONS), st.lists(st.sampled_from(ANOMALIES), max_size=4))
def test_an_allowance_never_makes_an_answer_worse(seed, mutation, allowed) -> None:
    mutant = mutation.apply(correct_run(seed), Random(seed))
    if mutant is None:
        return
    names = [anomaly.name for anomaly in allowed]

    assert answer(mutant, *names) <= answer(mutant)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.sampled_from(["assignments", "lives", "seen"]))
def test_an_answer_without_a_table_never_holds_where_it_did_not(seed: int, table: str) -> None:
    run = correct_run(seed)
    assert answer(run) == RANK["holds"]
    run.rows[table].clear()

    assert answer(run) > RANK["holds"] or table == "lives"
