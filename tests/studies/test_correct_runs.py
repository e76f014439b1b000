"""The table of correct runs resumes, and its page says what is missing."""

from __future__ import annotations

import csv

import pytest

from studies.correct_runs.draw import EVERY_S, faults_of
from studies.correct_runs.run import SEEDS, Row, collect, largest_share, page_of, row_of, rows_in


def finished(seed, *, fails=0, unknown=0):
    row = {"seed": seed, "commit": "abc", "faults": "2s kill shop 3s", "state": "finished"}
    return Row(**row, holds=7 - fails - unknown, fails=fails, unknown=unknown)


def test_seeds_that_are_in_the_table_are_not_run_again(tmp_path):
    table, made = tmp_path / "runs.csv", []

    def run(seed):
        made.append(seed)
        if seed == 3 and made.count(3) == 1:
            raise KeyboardInterrupt
        return finished(seed)

    with pytest.raises(KeyboardInterrupt):
        collect(table, 4, run)
    collect(table, 4, run)

    assert made == [1, 2, 3, 3, 4]
    assert rows_in(table) == [finished(seed) for seed in (1, 2, 3, 4)]
    with table.open() as file:
        assert len(list(csv.DictReader(file))) == 4


def test_faults_follow_from_the_seed_and_are_healed_before_the_next():
    assert faults_of(5) == faults_of(5)
    for seed in range(1, SEEDS + 1):
        faults = faults_of(seed)
        assert 1 <= len(faults) <= 3
        assert all(float(fault["lasts"][:-1]) < EVERY_S for fault in faults)


def test_only_verdicts_about_data_count():
    verdicts = [
        {"check": "log", "answer": "holds", "says": ""},
        {"check": "no_loss", "answer": "unknown", "says": "the end is not known"},
        {"check": "happens", "answer": "unknown", "says": "nothing happened"},
    ]

    row = row_of(1, "", verdicts)

    assert (row.holds, row.fails, row.unknown) == (1, 0, 1)
    assert row.reasons == "no_loss unknown: the end is not known"


def test_none_of_a_hundred_bounds_the_share_below_three_per_cent():
    assert largest_share(100) == pytest.approx(0.0295, abs=1e-4)


def test_the_page_names_false_alarms_and_missing_runs():
    page = page_of([finished(1), finished(2, fails=1)])

    assert "| runs with a false alarm | 1 |" in page
    assert "| 2 | 2s kill shop 3s |" in page
    assert "Only 2 of 100 runs" in page
