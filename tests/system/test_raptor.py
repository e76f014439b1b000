"""Raptor's use case with four sites: what the study of twenty does, in its small form."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from streambed import Run
from tests.support.running import ROOT, only_run, streambed

pytestmark = pytest.mark.system
SITES = 4
STUDY = ROOT / "studies" / "raptor"


@pytest.fixture(scope="module")
def analyse() -> ModuleType:
    specification = importlib.util.spec_from_file_location("analyse", STUDY / "analyse.py")
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder: Path = tmp_path_factory.mktemp("raptor")
    counts = [f"components.{name}.place.count={SITES}" for name in ("kafka", "sources", "readers")]
    changes = [
        *counts,
        f"topology.generate.switches={SITES}",
        "components.kafka.placement=balanced",
        "duration=10s",
    ]
    words = [word for change in changes for word in ("--set", change)]
    done = streambed(
        "run",
        STUDY / "experiment.yaml",
        *words,
        "--into",
        folder,
        "--no-report",
        cwd=folder,
        limit_s=110,
    )
    directory = only_run(folder)
    assert directory and done.returncode == 0, done.stdout + done.stderr
    return Run(directory)


def test_balanced_brokers_lead_as_many_topics(run: Run, analyse: ModuleType) -> None:
    assert sorted(analyse.leads(run)["leads"]) == [100 // SITES] * SITES


def test_every_reader_sees_every_record(run: Run) -> None:
    ledger = run.ledger()

    assert ledger.sent.height == SITES * 3 * 10
    assert ledger.seen["group"].unique().sort().to_list() == [
        f"readers/h{number}" for number in range(1, SITES + 1)
    ]
    assert (
        ledger.seen.select("group", "producer", "sequence").unique().height
        == SITES * ledger.sent.height
    )


def test_the_ports_of_balanced_sites_carry_about_as_much(run: Run, analyse: ModuleType) -> None:
    found = analyse.row(run)

    assert 1 <= found["port_spread"] < 2.5
    assert found["leads_spread"] == 0
