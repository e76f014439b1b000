"""Four famous failures and their twins: replication, disk, transactions and Spark."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from benchmarks._famous_cases import FOLDER
from streambed import Run
from streambed.record.events import Inject, InjectFailed
from tests.support.running import only_run, streambed

pytestmark = [pytest.mark.system, pytest.mark.together(60), pytest.mark.timeout(900)]

CASES = ("acks_1", "power", "doubled_batch", "hung_transaction")
TWINS = ("acks_all", "power_synced", "doubled_batch_guarded", "hung_transaction_timeout")
AT_ONCE = 2
LIMIT_S = 900


def run_example(name: str, into: Path) -> tuple[Run, str]:
    """Run one experiment; the run and what it printed."""
    words = ("run", FOLDER / f"{name}.yaml", "--into", into, "--no-report")
    done = streambed(*words, cwd=into, limit_s=LIMIT_S)
    folder = only_run(into)
    assert folder, done.stderr
    return Run(folder), done.stdout + done.stderr


@pytest.fixture(scope="module")
def started(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[tuple[Run, str]]]]:
    """The chosen experiments, two at once: none of them measures anything."""
    chosen = [
        item.callspec.params["name"] for item in request.session.items if item.path == request.path
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            name: pool.submit(run_example, name, tmp_path_factory.mktemp(name)) for name in chosen
        }


@pytest.mark.parametrize("name", [*CASES, *TWINS])
def test_a_famous_case_shows_its_danger_and_its_twin_is_safe(started, name):
    run, printed = started[name].result()

    assert [verdict.answer for verdict in run.verdicts()] == ["holds"] * len(run.checks()), printed
    history = run.history()
    assert history.of(Inject) and not history.of(InjectFailed)


@pytest.mark.parametrize("name", ["doubled_batch"])
def test_what_is_doubled_is_the_batch_whose_commit_is_gone(started, name):
    run, printed = started[name].result()
    history = run.history()
    (inject,) = history.of(Inject)
    bills = history.rows_of(run.checks()[0].store_query).rows
    assert bills is not None, printed

    twice = bills.filter(pl.struct("source_partition", "source_offset").is_duplicated())

    (batch,) = twice["batch"].unique()
    assert inject.target == f"bill: batch {batch} is not committed"
