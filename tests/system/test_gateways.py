"""The pipeline of home gateways on an emulated network: what `make demo` runs, here by
`gateway-traffic run --target box`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from streambed import Run
from streambed.record.events import Inject
from tests.support.running import ROOT, streambed

pytestmark = pytest.mark.system
EXAMPLE = ROOT / "examples" / "gateways"
BOX = [sys.executable, "-m", "gateway_traffic", "run", "--target", "box", "--experiment"]
PATIENT = ("--set", "drain=4min", "--set", "ready=4min")
"""A busy machine may take longer to start and to end; latency keeps the demo's own limit."""
SHORT = (
    "--set",
    "duration=12s",
    "--set",
    "components.trace.argv.6='36'",
    "--set",
    "faults.0.at=5s",
)
"""In 12 s a third of the gateways send their day."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gateways")
    command = [*BOX, str(EXAMPLE / "demo.yaml"), *PATIENT, *SHORT]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=550, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Run(folder / "runs" / "gateways" / "latest"), done.stdout


@pytest.mark.timeout(600)
def test_the_store_equals_the_exact_answer_although_half_of_the_homes_were_cut_off(demo):
    run, said = demo

    assert "audit: the store equals the exact answer for " in said
    assert [event.kind for event in run.history().of(Inject)] == ["cut"]
    assert [verdict.answer for verdict in run.check()] == ["holds"] * 4


def test_the_busiest_gateways_are_shown_as_the_run_goes(demo):
    _, said = demo

    before, table, _ = said.partition("watch | ┏")
    assert table
    assert "verdict" not in before and "HOLDS" not in before
    assert "due to store p50 " in said


def test_the_records_of_the_homes_are_followed_into_the_store(demo):
    run, said = demo
    no_loss, latency = run.verdict("no_loss"), run.verdict("latency")

    acked = no_loss.evidence["acked"]
    assert f"the store equals the exact answer for {acked:,} acknowledged records" in said
    assert no_loss.evidence["readers"] == {"delay": {"seen": acked, "duplicates": 0}}
    assert latency.evidence["records"] == acked
    for name in ("handed_in", "delivery", "latency", "table-gateways-that-sent-most"):
        assert (run.directory / "figures" / f"{name}.svg").exists(), name
    busiest = pl.read_parquet(run.directory / "figures" / "table-gateways-that-sent-most.parquet")
    assert busiest.columns == ["gateway", "GB"]
    assert busiest.height == 10


def test_the_store_can_be_asked_afterwards(demo):
    run, _ = demo

    top = run.query("cassandra", "select day, direction, place from top_by_day")

    (day,) = top["day"].unique()
    assert (
        sorted(top.filter(direction="sent")["place"])
        == sorted(top.filter(direction="received")["place"])
        == list(range(1, 11))
    ), day


def test_the_form_of_the_thesis_is_declared_soundly(tmp_path: Path):
    done = streambed("plan", EXAMPLE / "thesis.yaml", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("spark/worker") == 4


def test_a_minute_without_kafka_is_declared_soundly(tmp_path: Path):
    done = streambed("plan", EXAMPLE / "outage.yaml", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "kill  target kafka  until 1:20" in done.stdout
