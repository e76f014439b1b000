"""The famous cases: every experiment has its twin, its story and its row; every run counts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import _famous_cases as famous
from streambed.declare.yaml.reader import read

NAMES = [name for _, name in famous.numbered()]
README = (famous.FOLDER / "README.md").read_text()
STORY_LINES_MAX = 10
ROW = famous.Row(
    began="2026-01-01 00:00:00",
    experiment="acks_1",
    seed=1,
    answer="holds",
    fidelity="believed",
    seconds=30,
    says="found as expected",
    machine="a machine",
    kafka="4",
    spark="4",
    librdkafka="2",
    commit="abc",
    digest=famous.digest_of(famous.FOLDER / "acks_1.yaml"),
)


def test_every_experiment_belongs_to_a_pair():
    assert {path.stem for path in famous.FOLDER.glob("*.yaml")} == set(NAMES)
    assert {pair.number for pair in famous.PAIRS} == set(range(1, 17))


@pytest.mark.parametrize("pair", famous.PAIRS, ids=lambda pair: pair.case)
def test_a_pair_is_in_the_table_of_its_readme(pair):
    start = f"| {pair.number} | [{pair.case}.yaml]({pair.case}.yaml) | [{pair.twin}.yaml]"

    assert start in README


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_tells_its_story_first(name):
    text = (famous.FOLDER / f"{name}.yaml").read_text()
    story = text.partition("version: 1")[0].splitlines()

    assert 0 < len(story) <= STORY_LINES_MAX
    assert all(line.startswith("# ") for line in story)


@pytest.mark.parametrize("pair", famous.PAIRS, ids=lambda pair: pair.case)
def test_a_case_expects_its_danger_and_a_twin_is_safe(pair):
    case, twin = (read(famous.FOLDER / f"{name}.yaml") for name in (pair.case, pair.twin))

    assert any(getattr(check, "expect", None) for check in case.checks)
    unsafe = [check.kind for check in twin.checks if getattr(check, "expect", None)]
    assert len(twin.checks) > len(unsafe)
    assert set(unsafe) <= {"available"}  # Safety may cost availability.


def test_names_choose_cases_with_their_twins():
    assert famous.experiments(["acks_1"], twins=True) == ["acks_1", "acks_all"]
    assert famous.experiments(["acks_1"], twins=False) == ["acks_1"]
    assert famous.experiments(["acks_all"], twins=True) == ["acks_all"]
    assert famous.experiments([], twins=True) == NAMES
    with pytest.raises(SystemExit, match="no case is called aks_1"):
        famous.experiments(["aks_1"], twins=True)


def test_rows_are_read_as_they_were_written(tmp_path: Path):
    file = tmp_path / "rows.csv"
    rows = [ROW, replace(ROW, seed=2, answer="broken", says='"too slow", it said')]

    for row in rows:
        famous.append(file, row)

    assert famous.rows_of(file) == rows


def test_the_table_counts_every_run_of_the_present_experiment():
    rows = [ROW, replace(ROW, seed=2), replace(ROW, seed=3, answer="broken")]
    old = replace(ROW, seed=4, answer="fails", digest="of another file")

    (line,) = [line for line in famous.table_lines([*rows, old]) if "[acks_1]" in line]

    assert re.split(r" \| ", line.strip("| "))[2:] == [
        "2 of 3", "9% to 99%", "0", "0", "1", "30 s",
    ]  # fmt: skip


def test_the_page_has_the_table_of_all_rows():
    table = "\n".join(famous.table_lines(famous.rows_of(famous.CSV)))

    assert table in famous.PAGE.read_text()
