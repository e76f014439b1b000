"""The page of a study."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from streambed.declare.yaml import study_file
from streambed.errors import DeclarationError
from streambed.reports import study as page
from streambed.results.studies import StudyResult
from streambed.runner.study import carry_out
from tests.support.fake_launcher import STUDY, install, write_study


@pytest.mark.parametrize(
    ("texts", "numbers", "unit"),
    [
        (["10ms", "150ms", "1s"], [10, 150, 1000], "ms"),
        (["0s", "2s"], [0, 2], "s"),
        (["500kbit", "1Mbit"], [500, 1000], "kbit"),
        (["1", "10"], [1, 10], ""),
        (["1%", "0.5%"], [1, 0.5], "%"),
        (["100/s", "200/s"], [100, 200], "/s"),
    ],
)
def test_quantities_of_one_kind_share_an_axis_with_a_unit(texts, numbers, unit):
    axis = page.axis_of(texts)

    assert list(axis.numbers.values()) == pytest.approx(numbers)
    assert axis.unit == unit


@pytest.mark.parametrize("texts", [["1", "all"], ["10ms", "10Mbit"], ["none"]])
def test_other_values_stay_words(texts):
    assert page.axis_of(texts).numbers == {}


def studied(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str = STUDY, *states: str
) -> StudyResult:
    install(monkeypatch, *states)
    return carry_out(study_file.read(write_study(folder, text)), into=folder / "runs")


def test_each_measure_is_drawn_with_points_and_intervals(tmp_path, monkeypatch):
    result = studied(tmp_path, monkeypatch)

    path = page.write(result)

    svg = (result.folder / "figures" / "plot_0_ready.svg").read_text()
    assert "topology.links.0.delay in ms" in svg
    assert "ready in ms" in svg
    assert "delays · 4 trials · seed 1" in svg
    assert pl.read_parquet(result.folder / "figures" / "plot_0_ready.parquet")["n"].to_list() == [
        2,
        2,
    ]
    text = path.read_text()
    assert "4 of 4 finished" in text
    assert "Nothing is left out as warm-up." in text
    assert "Student" in text


def test_what_failed_and_what_was_left_out_is_said(tmp_path, monkeypatch):
    text = STUDY + "warm_up: 1s\n"

    shown = page.write(studied(tmp_path, monkeypatch, text, "failed")).read_text()

    assert "did not finish: it failed" in shown
    assert "before 1s of the load are left out" in shown


def test_a_second_key_gives_colours_and_words_give_an_axis_of_words(tmp_path, monkeypatch):
    text = STUDY.replace("repetitions", "  components.talker.on_exit: [fail, record]\nrepetitions")
    result = studied(
        tmp_path,
        monkeypatch,
        text
        + "plots: [{x: components.talker.on_exit, y: ready, colour: topology.links.0.delay}]\n",
    )

    page.write(result)

    svg = (result.folder / "figures" / "plot_0_ready.svg").read_text()
    assert "record" in svg
    assert "100ms" in svg


def test_without_anything_varied_there_is_no_plot_but_a_table(tmp_path, monkeypatch):
    text = STUDY.replace("vary:\n  topology.links.0.delay: [100ms, 200ms]\n", "")

    assert "Nothing is varied" in page.write(studied(tmp_path, monkeypatch, text)).read_text()


def test_a_label_replaces_a_varied_key_for_people(tmp_path, monkeypatch):
    text = STUDY + "labels: {topology.links.0.delay: delay of the edge}\n"
    result = studied(tmp_path, monkeypatch, text)

    shown = page.write(result).read_text()

    svg = (result.folder / "figures" / "plot_0_ready.svg").read_text()
    assert "delay of the edge in ms" in svg
    assert "topology.links.0.delay" not in svg
    assert "<th>delay of the edge</th>" in shown
    assert "topology.links.0.delay" in result.summary().columns


def test_a_label_of_a_key_that_is_not_varied_is_refused(tmp_path):
    text = STUDY + "labels: {topology.links.0.dealy: delay}\n"

    with pytest.raises(DeclarationError, match="dealy' is not varied"):
        study_file.read(write_study(tmp_path, text))


def test_times_below_a_second_are_in_milliseconds():
    table = pl.DataFrame(
        {
            "measure": ["p99", "p99", "start"],
            "unit": ["s", "s", "s"],
            "mean": [0.012, 0.5, 3.0],
            "low": [0.01, None, 2.0],
        }
    )

    shown = page.in_milliseconds(table, by="mean")

    assert shown["unit"].to_list() == ["ms", "ms", "s"]
    assert shown["mean"].to_list() == [12.0, 500.0, 3.0]
    assert shown["low"].to_list() == [10.0, None, 2.0]


def test_labels_of_lines_that_end_together_are_moved_apart():
    points = pl.DataFrame(
        {
            "x": [1.0, 2.0, 1.0, 2.0],
            "mean": [5.0, 10.0, 4.0, 10.1],
            "line": ["acks=1", "acks=1", "acks=all", "acks=all"],
            "colour": ["1", "1", "all", "all"],
        }
    )

    labels = page.line_labels(points)

    assert labels["text"].to_list() == ["1", "all"]
    assert labels["height"][1] - labels["height"][0] > 0.5
