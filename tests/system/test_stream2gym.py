"""A stream2gym experiment runs unchanged: built-in types, a Spark job, scripts for kafka-python,
hard-coded addresses, named ports.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from streambed import Run
from streambed.record.events import Note
from tests.support.running import ROOT, streambed

pytestmark = [pytest.mark.system, pytest.mark.together(25)]
EXAMPLE = ROOT / "examples" / "stream2gym" / "input.graphml"
CHANGES = ("--set", "duration=6s", "--set", "components.h4-consumer-1.keep=true")


@pytest.fixture(scope="module")
def summary(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("stream2gym")
    done = streambed("run", EXAMPLE, *CHANGES, "--json", "--no-report", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def run(summary) -> Run:
    return Run(Path(summary["run"]))


def test_nothing_is_lost_and_what_changed_is_noted(summary, run):
    assert [(verdict["check"], verdict["answer"]) for verdict in summary["verdicts"]] == [
        ("no_loss", "holds")
    ]
    notes = [event.says for event in run.history().of(Note)]
    assert "ZooKeeper is gone from Kafka 4: h2 is a KRaft controller instead (h2)" in notes


def test_the_built_in_producer_kept_its_rate_and_its_number_of_messages(run):
    due = run.ledger().sent.filter(pl.col("producer") == "h1-producer-1")["due"].sort()

    assert due.len() == 40
    assert due.diff().drop_nulls().unique().to_list() == [100_000_000]


def test_the_job_found_its_broker_and_the_consumer_what_the_job_made(run):
    words = run.records().filter(pl.col("topic") == "words")["value"].to_list()

    assert words.count(b"frozen") == 40
    assert words.count(b"rrrr") == 40  # What SFST appends to each message.


def test_scripts_found_kafka_python_and_their_arguments(run):
    assert (run.directory / "logs" / "h7-producer-1.log").read_text() == "sent 30 readings\n"
    assert (
        "frost at h7-1: -6.6 degrees, reading 29"
        in (run.directory / "logs" / "h7-consumer-1.log").read_text()
    )


def test_ports_name_the_interfaces(run):
    assert {"s1/s1-eth5", "h7/h7-eth1"} <= set(run.samples()["of"])
