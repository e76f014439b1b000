"""Auditing: the store against the exact answer, and how long records took."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from gateway_traffic import answers, auditing, traces
from gateway_traffic.records import Version
from gateway_traffic.stores.sqlite import SqliteStore
from gateway_traffic.stores.store import Part

TRACE = traces.generate(traces.Homes(gateways=12, days=0.05))


def ledger_of(records: pl.DataFrame) -> pl.DataFrame:
    times = {
        "due": pl.int_range(pl.len()) * 1_000_000_000,
        "acked": pl.int_range(pl.len()) * 1_000_000_000 + 5,
    }
    return records.select("gateway_id", "date").with_columns(**times)


def store_of(path: Path, version: Version, *, more: float = 0.0) -> SqliteStore:
    exact = answers.answer(
        answers.reported_traffic(version, traces.records_of(TRACE, version))
    ).totals
    store = SqliteStore(path)
    rows = exact.select("gateway_id", "day", "tx", "rx").iter_rows()
    store.write(
        "query", 0, [Part(gateway_id, day, 0, tx + more, rx, 1) for gateway_id, day, tx, rx in rows]
    )
    return store


@pytest.mark.parametrize("version", Version)
def test_a_store_with_the_exact_answer_has_no_difference(tmp_path, version):
    result = auditing.audit(
        TRACE, ledger_of(TRACE), store_of(tmp_path / "store.db", version), version
    )

    assert result.differences == []
    assert result.says.startswith(
        f"the store equals the exact answer for {TRACE.unique(answers.IDENTITY).height:,} "
        "acknowledged records"
    )


def test_one_byte_more_is_found(tmp_path):
    result = auditing.audit(
        TRACE,
        ledger_of(TRACE),
        store_of(tmp_path / "store.db", Version.COUNTER, more=1),
        Version.COUNTER,
    )

    assert len(result.differences) == 12
    assert result.says.startswith("12 of the store's totals differ from the exact answer")


def test_a_gateway_that_the_store_lacks_is_found(tmp_path):
    result = auditing.audit(
        TRACE, ledger_of(TRACE), SqliteStore(tmp_path / "store.db"), Version.COUNTER
    )

    assert len(result.differences) == 12
    assert "gw-000000 on day 19723: nothing, exact is " in result.says


def test_latency_is_from_when_the_nth_record_was_due_to_when_the_store_held_n():
    records = pl.DataFrame({"gateway_id": ["a", "b", "a"], "date": [1, 1, 2]})
    counts = pl.DataFrame(
        {"time_ns": [500_000_000, 3_000_000_000, 4_000_000_000], "records": [0, 2, 2]}
    )

    seconds, missing = auditing.latencies_s(ledger_of(records), counts)

    assert list(seconds) == [3.0, 2.0]
    assert missing == 1
