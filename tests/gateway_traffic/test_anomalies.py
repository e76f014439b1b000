"""Anomalies: planted ones are found, and little else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from streaming import READ, streamed

from gateway_traffic.errors import UsageError
from gateway_traffic.jobs.anomalies import read_model, train, write_model
from gateway_traffic.jobs.archive import archived_parts, batch_lander
from gateway_traffic.records import Version
from gateway_traffic.traces import Homes, generate, records_of

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]
HOUR_MS = 3_600_000
HOMES = Homes(gateways=40, days=1.0, interval_s=120, late=0.0, duplicates=0.0)
Hours = set[tuple[str, int]]


def planted(trace: pl.DataFrame, *, seed: int, hours: int) -> tuple[pl.DataFrame, Hours]:
    """In so many hours a gateway sends 20 to 100 times as much as it did."""
    random = np.random.default_rng(seed)
    busy = trace.with_columns(hour=pl.col("date") // HOUR_MS).group_by("gateway_id", "hour").len().filter(pl.col("len") >= 25)
    chosen = busy.sort("gateway_id", "hour").sample(hours, seed=seed).drop("len")
    factors = chosen.with_columns(factor=pl.Series(random.uniform(20, 100, hours)))
    joined = trace.with_columns(hour=pl.col("date") // HOUR_MS).join(factors, on=["gateway_id", "hour"], how="left", maintain_order="left")
    sent = (pl.col("tx") * pl.col("factor").fill_null(1.0)).floor()
    return joined.with_columns(tx=sent).drop("hour", "factor"), set(chosen.iter_rows())


@pytest.fixture(scope="module")
def model_file(spark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Learnt from an archive that has a few anomalies too."""
    folder = tmp_path_factory.mktemp("learning")
    past, _ = planted(generate(HOMES), seed=1, hours=5)
    rows = records_of(past, Version.COUNTER).drop("due").rows()
    batch_lander(folder / "archive")(spark.createDataFrame(rows, READ), 0)
    write_model(train(archived_parts(spark, folder / "archive", Version.COUNTER)), folder / "model.json")
    return folder / "model.json"


def test_planted_anomalies_are_found_in_the_stream(spark, tmp_path, model_file):
    present, wrong = planted(generate(Homes(**{**vars(HOMES), "seed": 2})), seed=2, hours=40)
    records = records_of(present, Version.COUNTER).drop("due")

    store = streamed(spark, tmp_path, Version.COUNTER, records, batches=2, model=read_model(model_file))

    found = {(each.gateway_id, each.day * 24 + each.part) for day in store.days() for each in store.anomalies(day.day)}
    store.close()
    precision, recall = len(found & wrong) / len(found), len(found & wrong) / len(wrong)
    print(f"anomalies: precision {precision:.2f}, recall {recall:.2f}")
    assert precision >= 0.9 and recall >= 0.8


def test_a_file_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "other.json").write_text(json.dumps({"intercept": 1.0, "weights": {"a": 1.0}, "deviation": 1.0}))
    with pytest.raises(UsageError, match="is a model of a"):
        read_model(tmp_path / "other.json")
    with pytest.raises(UsageError, match="cannot be read as a model"):
        read_model(tmp_path / "none.json")
