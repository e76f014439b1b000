"""When a fault comes: regular and random times, and what cannot be."""

from __future__ import annotations

import itertools

from streambed import Kill
from streambed.kinds.faults.when.schedule import schedule, timing_problems
from streambed.units import Duration

MINUTE = Duration(60e9)


def times_s(seed: int = 1, **timing: object) -> list[float]:
    fault = Kill(target="poet", lasts="2s", **timing)
    return [
        injection.at_ns / 1e9 for injection in schedule([fault], duration_ns=MINUTE.ns, seed=seed)
    ]


def problems(**timing: object) -> list[tuple[str, str]]:
    fault = Kill(target="poet", **{"lasts": "2s", **timing})
    return [(problem.key, problem.says) for problem in timing_problems(fault, MINUTE)]


def test_a_fault_repeats_as_often_as_it_says():
    assert times_s(at="5s", every="10s", repeat=3) == [5, 15, 25]


def test_without_a_number_it_repeats_while_it_fits_into_the_load():
    assert times_s(at="5s", every="20s") == [5, 25, 45]


def test_random_times_come_from_the_seed_and_never_meet():
    times = times_s(churn=20)

    assert times == times_s(churn=20) != times_s(churn=20, seed=2)
    assert len(times) == 20
    assert all(later - sooner >= 2 for sooner, later in itertools.pairwise(times))
    assert min(times) >= 0 and max(times) <= 58


def test_random_times_begin_at_the_declared_time():
    assert min(times_s(at="40s", churn=5)) >= 40


def test_a_fault_needs_a_time_or_a_trigger():
    assert problems() == [
        ("at", "the time is missing: give `at`, or `after` or `when` for a trigger, or `churn`")
    ]


def test_a_fault_that_would_meet_itself_is_refused():
    ((key, says),) = problems(at="1s", every="2s")

    assert key == "every" and "it lasts 2s, so it would begin again before it is over" in says


def test_a_fault_that_would_come_too_often_is_refused():
    assert problems(at="0s", lasts="1us", every="2us") == [
        (
            "every",
            "it would come 30000000 times, and at most 1000 are allowed: "
            "give `repeat`, or a longer `every`",
        )
    ]
    assert problems(at="0s", lasts="1us", every="60ms") == []


def test_a_run_too_short_for_all_repetitions_is_refused():
    assert problems(at="5s", every="10s", repeat=10) == [
        (
            "repeat",
            "10 times need at least until 97s, but the load lasts only 1min: begin earlier, or "
            "lengthen `duration` to 97s or more",
        )
    ]
    assert problems(churn=31)[0][0] == "churn"


def test_keys_that_contradict_each_other_are_refused():
    assert problems(at="1s", repeat=2)[0][0] == "repeat"
    assert problems(at="1s", every="5s", churn=2)[0][0] == "churn"
    assert problems(after="9 acked on lines", every="5s")[0][0] == "every"
