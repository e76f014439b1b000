"""Records that come too late: the store differs from the exact answer by no more than
docs/gateways.md says.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from gateway_traffic.answers import RATE_ERROR, answer, reported_traffic
from gateway_traffic.records import Version
from gateway_traffic.traces import Homes, generate, records_of
from tests.support.gateways.streaming import streamed, totals_in

pytestmark = [
    pytest.mark.spark,
    pytest.mark.together(15),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
HOUR_MS = 3_600_000
HELD = (pl.col("date") // 1000 % 10 == 3) & ~pl.col("copy")
MADE = generate(
    Homes(gateways=6, days=1.1, restarts_per_day=3, interval_s=240, late=0.0, duplicates=0.0)
)
TRACE = MADE.with_columns(
    due=pl.when(HELD).then(pl.col("due") + 10 * HOUR_MS).otherwise("due")
).sort("due")
"""One record in ten comes ten hours late. Batches span five hours, and Spark drops by the watermark
of the batch before.
"""


def late_traffic(version: Version) -> dict[str, tuple[float, float]]:
    """What each gateway's late records said: sent and received, and for a rate no less than the
    next record's rate over the same time.
    """
    seconds = (pl.col("date") - pl.col("since")) / 1000
    following = [
        (pl.col(name) / seconds).shift(-1).over("gateway_id").fill_nan(0).fill_null(0) * seconds
        for name in ("tx", "rx")
    ]
    ordered = TRACE.unique(["gateway_id", "date"], keep="first").sort("gateway_id", "date")
    reported = ordered.with_columns(
        *[
            pl.max_horizontal(name, other) if version is Version.RATE else pl.col(name)
            for name, other in zip(("tx", "rx"), following, strict=True)
        ]
    )
    late = reported.filter(HELD)
    return {
        name: (tx, rx)
        for name, tx, rx in late.group_by("gateway_id").agg(pl.col("tx", "rx").sum()).iter_rows()
    }


@pytest.mark.parametrize("version", list(Version))
def test_what_late_records_cost_is_at_most_what_they_said(spark, tmp_path: Path, version: Version):
    records = records_of(TRACE, version).drop("due")
    store = streamed(spark, tmp_path, version, records, batches=7, lateness="1 minute")

    stored, bounds = totals_in(store), late_traffic(version)
    exact = {
        (name, day): (tx, rx)
        for name, day, tx, rx in answer(reported_traffic(version, records)).totals.iter_rows()
    }
    differences = {
        (key, way): abs(pair[way] - stored.get(key, (0.0, 0.0))[way])
        for key, pair in exact.items()
        for way in (0, 1)
    }
    counted = sum(day.records for day in store.days())
    store.close()
    assert counted < len(records.unique(["gateway_id", "date"])), "some came too late"
    beyond = {
        key: by
        for key, by in differences.items()
        if by > bounds[key[0][0]][key[1]] + RATE_ERROR * exact[key[0]][key[1]]
    }
    assert beyond == {}
    print(f"{version}: the largest difference is {max(differences.values()) / 1e6:.1f} MB")
