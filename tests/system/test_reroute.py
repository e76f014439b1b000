"""The example of a cut cable: packets go round the other way from two seconds after the cut on, and
back.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from streambed import Run
from streambed.record.events import Heal, Inject, Reroute
from tests.support.running import ROOT, streambed

pytestmark = pytest.mark.system
EXAMPLE = ROOT / "examples" / "reroute" / "experiment.yaml"
CABLE = "paris-switch – madrid-switch"


def test_records_are_late_until_packets_take_another_way(tmp_path: Path) -> None:
    done = streambed("run", EXAMPLE, "--json", "--no-report", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    run = Run(Path(json.loads(done.stdout)["run"]))
    around, back = run.history().of(Reroute)
    assert (around.without, back.without) == ((CABLE,), ())
    assert around.nodes == ("berlin-switch", "paris-switch", "madrid-switch")
    (cut,), (mended,) = (run.history().of(event) for event in (Inject, Heal))
    assert 2 <= (around.time - cut.time) / 1e9 + 0.1 < 3
    assert 2 <= (back.time - mended.time) / 1e9 + 0.1 < 3
    acked = run.ledger().sent.with_columns(took_s=(pl.col("acked") - pl.col("due")) / 1e9)
    waited = acked.filter(pl.col("due").is_between(cut.time, around.time - 1_000_000_000))["took_s"]
    later = acked.filter(pl.col("due").is_between(mended.time - 500_000_000, mended.time))["took_s"]
    assert waited.min() > 1
    assert later.median() < 1
