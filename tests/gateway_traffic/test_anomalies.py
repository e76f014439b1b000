"""Anomalies: planted ones are found, and little else."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from gateway_traffic.errors import UsageError
from gateway_traffic.jobs import job
from gateway_traffic.jobs.anomalies import LIMIT, read_model, train, write_model
from gateway_traffic.jobs.archive import archived_parts, batch_lander
from gateway_traffic.records import Version
from gateway_traffic.traces import Homes, generate, records_of
from tests.support.gateways.streaming import READ, streamed

pytestmark = [
    pytest.mark.spark,
    pytest.mark.together(15),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
HOUR_MS = 3_600_000
HOMES = Homes(gateways=40, days=1.0, interval_s=120, late=0.0, duplicates=0.0)
Hour = tuple[str, int]
"""A gateway, and the hour since 1970."""
EASY = (20.0, 50.0, 100.0)
SWEEP = (1.5, 2.0, 3.0, 5.0, 10.0, 30.0)
EVENING = range(17, 23)
"""When homes are busiest anyway."""
LIMITS = (2.0, 3.0, 4.0, LIMIT)


def planted(
    trace: pl.DataFrame,
    factors: tuple[float, ...],
    *,
    seed: int,
    each: int,
    when: range = range(24),
) -> tuple[pl.DataFrame, dict[Hour, float]]:
    """Multiply the traffic of `each` random hours by each factor; the trace and those hours."""
    hourly = trace.with_columns(hour=pl.col("date") // HOUR_MS)
    full = (
        hourly.group_by("gateway_id", "hour")
        .len()
        .filter((pl.col("len") >= 25) & (pl.col("hour") % 24).is_in(list(when)))
    )
    chosen = (
        full.sort("gateway_id", "hour")
        .sample(each * len(factors), seed=seed, shuffle=True)
        .drop("len")
    )
    sized = chosen.with_columns(factor=pl.Series(factors * each))
    joined = hourly.join(sized, on=["gateway_id", "hour"], how="left", maintain_order="left")
    sent = (pl.col("tx") * pl.col("factor").fill_null(1.0)).floor()
    return joined.with_columns(tx=sent).drop("hour", "factor"), {
        (gateway, hour): factor for gateway, hour, factor in sized.iter_rows()
    }


@pytest.fixture(scope="module")
def model_file(spark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Learnt from an archive that has a few anomalies too."""
    folder = tmp_path_factory.mktemp("learning")
    past, _ = planted(generate(HOMES), EASY, seed=1, each=2)
    rows = records_of(past, Version.COUNTER).drop("due").rows()
    batch_lander(folder / "archive")(spark.createDataFrame(rows, READ), 0)
    write_model(
        train(archived_parts(spark, folder / "archive", Version.COUNTER)), folder / "model.json"
    )
    return folder / "model.json"


@pytest.fixture(scope="module")
def scored(
    spark, tmp_path_factory: pytest.TempPathFactory, model_file: Path
) -> tuple[dict[Hour, float], dict[Hour, float]]:
    """What a stream with a low limit found, by score, and what was planted into the evenings, by
    size.
    """
    present, wrong = planted(
        generate(Homes(**{**vars(HOMES), "seed": 2})), SWEEP, seed=2, each=12, when=EVENING
    )
    records = records_of(present, Version.COUNTER).drop("due")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "LIMIT", LIMITS[0])
        store = streamed(
            spark,
            tmp_path_factory.mktemp("stream"),
            Version.COUNTER,
            records,
            batches=2,
            model=read_model(model_file),
        )
    scores = {
        (each.gateway_id, each.day * 24 + each.part): each.score
        for day in store.days()
        for each in store.anomalies(day.day)
    }
    store.close()
    return scores, wrong


def test_what_is_found_is_wrong_and_the_larger_it_is_the_surer_it_is_found(scored):
    scores, wrong = scored
    precisions, recalls = {}, {}
    for limit in LIMITS:
        flagged = {hour for hour, score in scores.items() if score > limit}
        precisions[limit] = len(flagged & wrong.keys()) / len(flagged)
        recalls[limit] = [
            len(flagged & {hour for hour in wrong if wrong[hour] == size}) * len(SWEEP) / len(wrong)
            for size in SWEEP
        ]
        sizes = ", ".join(
            f"{size:g} times {recall:.2f}"
            for size, recall in zip(SWEEP, recalls[limit], strict=True)
        )
        print(
            f"anomalies above {limit:g} deviations: precision {precisions[limit]:.2f}; recall by "
            f"size: {sizes}"
        )

    assert precisions[LIMIT] >= 0.9
    assert recalls[LIMIT][0] < 0.5, "half more than usual is within what homes do"
    assert recalls[LIMIT][-1] >= 0.8
    assert sum(recalls[LIMITS[0]]) >= sum(recalls[LIMIT])


def test_a_file_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "other.json").write_text(
        json.dumps({"intercept": 1.0, "weights": {"a": 1.0}, "deviation": 1.0})
    )
    with pytest.raises(UsageError, match="is a model of a"):
        read_model(tmp_path / "other.json")
    with pytest.raises(UsageError, match="cannot be read as a model"):
        read_model(tmp_path / "none.json")
