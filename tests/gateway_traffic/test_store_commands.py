"""What the command line shows of stores."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateway_traffic.cli import app
from gateway_traffic.errors import GatewayTrafficError
from gateway_traffic.stores.sqlite import SqliteStore
from gateway_traffic.stores.store import Anomaly, Part, agreement

DAY = 19_723  # 2024-01-01
PARTS = [Part("a", DAY + number, 7, 1e9, 2e9, 60) for number in range(4)]


def kept(path: Path, parts: list[Part]) -> Path:
    store = SqliteStore(path)
    store.write("q", 0, parts, [Anomaly("a", DAY + 3, 7, 6.25)])
    store.close()
    return path


def asked(*words: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, words)))


def test_batch_and_stream_agree_on_closed_days(tmp_path):
    batch = kept(tmp_path / "batch.db", PARTS)
    stream = kept(tmp_path / "traffic.db", [*PARTS[:3], PARTS[3]._replace(tx=0.5e9)])

    shown = asked("agree", "--batch", batch, "--store", stream)

    assert shown.exit_code == 0, shown.output
    assert [word in shown.output for word in ("2024-01-01", "closed", "agree", "open", "0.5")] == [
        True
    ] * 5


@pytest.mark.parametrize(("lateness_days", "status"), [(1, 1), (3, 0)])
def test_a_closed_day_that_differs_is_a_failure(tmp_path, lateness_days, status):
    batch = kept(tmp_path / "batch.db", PARTS)
    stream = kept(tmp_path / "traffic.db", [PARTS[0], PARTS[1]._replace(rx=1.9e9), *PARTS[2:]])

    shown = asked(
        "agree", "--batch", batch, "--store", stream, "--lateness-days", str(lateness_days)
    )

    assert shown.exit_code == status
    assert asked("agree", "--batch", batch, "--store", stream, "--bound", "0.06").exit_code == 0


def test_a_day_that_only_one_knows_differs_wholly(tmp_path):
    stores = [
        SqliteStore(kept(tmp_path / name, parts))
        for name, parts in (("batch.db", PARTS), ("traffic.db", PARTS[1:]))
    ]
    assert [(day.closed, day.difference) for day in agreement(*stores, lateness_days=1)] == [
        (True, 1.0),
        (True, 0.0),
        (False, 0.0),
        (False, 0.0),
    ]
    for store in stores:
        store.close()


def test_means_and_anomalies_are_shown(tmp_path):
    store = kept(tmp_path / "traffic.db", PARTS)
    assert [
        word in asked("means", "2024-01-01", "--store", store).output
        for word in ("07", "1,000.000", "2,000.000")
    ] == [True] * 3
    assert [
        word in asked("anomalies", "--store", store).output for word in ("07", " a ", "6.2")
    ] == [True] * 3
    assert isinstance(asked("means", "2023-01-01", "--store", store).exception, GatewayTrafficError)


@pytest.mark.parametrize("verb", ["batch", "train"])
def test_an_archive_that_is_not_there_is_refused(tmp_path, verb):
    failed = asked(verb, "--archive", tmp_path / "none", "--version", "counter").exception
    assert isinstance(failed, GatewayTrafficError) and "there is no archive" in str(failed)
