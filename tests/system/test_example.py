"""The example, as a new user runs it; every command of the README works on its run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from streambed import Latency, Run
from streambed.record.events import Batch
from tests.support.browser_pages import document, marks
from tests.support.modules import load_module
from tests.support.running import ROOT, streambed

pytestmark = pytest.mark.system
EXAMPLE = ROOT / "examples" / "word_count"
LOAD_S = 10


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """One run of the example for all tests here."""
    folder = tmp_path_factory.mktemp("example")
    done = streambed(
        "run",
        EXAMPLE / "experiment.yaml",
        "--set",
        f"duration={LOAD_S}s",
        "--json",
        "--seed",
        "3",
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, json.loads(done.stdout)


@pytest.fixture(scope="module")
def run(example) -> Run:
    return Run(Path(example[1]["run"]))


def expectation():
    return load_module(EXAMPLE / "expected.py")


def acked_records(run: Run) -> list[tuple[str, str]]:
    lines = [line.partition("\t") for line in (EXAMPLE / "lines.txt").read_text().splitlines()]
    acked = run.ledger().sent.filter(pl.col("acked").is_not_null())
    return [
        (lines[sequence % len(lines)][0], lines[sequence % len(lines)][2])
        for sequence in acked["sequence"]
    ]


def newest(run: Run, topic: str) -> dict[str, dict]:
    """The last value of each key of a topic, as its readers see it."""
    rows = run.records().filter(pl.col("topic") == topic).sort("partition", "offset")
    return {
        key.decode(): json.loads(value) for key, value in rows.select("key", "value").iter_rows()
    }


def test_every_check_of_the_example_holds(example):
    _, summary = example

    assert summary["state"] == "finished"
    assert [verdict["answer"] for verdict in summary["verdicts"]] == ["holds", "holds", "holds"]


def test_the_frequencies_are_those_of_the_text_that_was_acked(run):
    counted = {
        (found["document"], found["word"]): found["frequency"]
        for found in newest(run, "frequencies").values()
    }

    assert counted == expectation().expected_frequencies(acked_records(run))


def test_the_averages_are_those_of_the_text_that_was_acked(run):
    averages = newest(run, "averages")

    wanted = expectation().expected_averages(acked_records(run))
    assert set(averages) == set(wanted)
    for topic, (documents, words) in wanted.items():
        assert averages[topic]["average"] == pytest.approx(words / documents)


def test_the_producer_kept_its_rate(run):
    sent = run.ledger().sent

    assert len(sent) == 500 * LOAD_S
    assert sent["due"].max() - sent["due"].min() == (len(sent) - 1) * 2_000_000


def test_every_kind_of_sample_was_taken(run):
    samples = run.samples()

    assert {
        "port_rx_bytes",
        "process_cpu_s",
        "process_rss_bytes",
        "lag_records",
        "sent_total",
        "delay_line_late_mean_ns",
    } <= set(samples["metric"])
    assert {
        "kafka/broker",
        "counter",
        "averager",
        "poet",
        "reader",
        "conductor",
        "delay line",
    } <= set(samples.filter(pl.col("metric") == "process_cpu_s")["of"])


def test_batches_of_both_jobs_were_recorded(run):
    batches = run.history().of(Batch)

    assert {event.component for event in batches} == {"counter", "averager"}
    assert sum(event.rows for event in batches if event.component == "counter") == 500 * LOAD_S


def test_the_slow_edge_is_as_slow_as_declared(run):
    """An acknowledgement crosses edge and broker links twice: at least 2 x (20 + 2) ms."""
    sent = run.ledger().sent

    assert (sent["acked"] - sent["sent"]).min() >= 44_000_000 * 0.95


def test_a_limit_below_what_spark_can_do_fails(run):
    verdict = Latency(of="counter", p99="1ms").judge(run.history())

    assert verdict.fails
    assert verdict.evidence["records"] == 500 * LOAD_S


@pytest.mark.browser
def test_the_page_of_a_real_run_is_drawn_in_a_real_browser(run, browser, tmp_path):
    text = document(browser, run.directory / "report.html", tmp_path / "profile", "#all")

    drawn = marks(text)
    assert '<div id="script-errors" role="alert"></div>' in text
    assert drawn.keys() == {path.stem for path in (run.directory / "figures").glob("*.svg")}
    assert all(drawn.values())


def test_the_python_of_the_results_page_works_on_it(example, tmp_path):
    folder, _ = example
    program = {"HAND_IN": tmp_path, "COMPONENT": "homes", "PROCESS": "homes", "INCARNATION": 1}
    variables = {f"STREAMBED_{name}": str(value) for name, value in program.items()}
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "results.md").read_text(), re.DOTALL
    )
    text = "\n".join([*blocks, "assert run.quantiles().height > 1", "assert history.events"])

    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_the_page_and_its_figures_are_there(run):
    assert (run.directory / "report.html").stat().st_size > 100_000
    assert len(list((run.directory / "figures").glob("*.svg"))) >= 8


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["list"], "word-count/"),
        (["check", "latest"], "no_loss    HOLDS"),
        (["report", "latest"], "report.html"),
        (["logs", "latest", "kafka"], "Kafka Server started"),
    ],
)
def test_a_kept_run_can_be_listed_judged_shown_and_read_again(example, words, says):
    folder, _ = example

    done = streambed(*words, cwd=folder)

    assert done.returncode == 0, done.stderr
    assert says in done.stdout
