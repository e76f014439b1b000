"""A consumer or sink that is killed again and again reads what it had not noted once more: nothing
acknowledged looks lost.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from streambed import Run
from tests.support.running import streambed

pytestmark = [pytest.mark.system, pytest.mark.together(45)]

KILLS = 10
RATE = 2000
DURATION_S = 20
EXPERIMENT = """
version: 1
name: killed-readers
duration: {duration_s}s
drain: 2min
topology:
  links:
    - {{ends: [edge, broker], delay: 1ms}}
components:
  kafka: {{kind: kafka, nodes: [broker], topics: {{lines: {{partitions: 2}}}}}}
  poet: {{kind: producer, node: edge, writes: lines, size: 100B, rate: {rate}/s}}
  reader:
    kind: consumer
    node: edge
    reads: lines
    membership: static
    settings: {{auto.commit.interval.ms: 200}}
  file: {{kind: embedded, node: edge, engine: sqlite}}
  to-file:
    kind: sink
    node: edge
    reads: lines
    store: file
    table: records
    format: bytes
    settings: {{group.instance.id: to-file}}
faults:
{faults}
checks:
  - {{kind: no_loss, topic: lines, by: [reader]}}
  - {{kind: no_loss, topic: lines, by: [to-file]}}
"""


def kills(target: str, seed: int) -> str:
    """Kills at irregular times over the whole load."""
    draw = random.Random(seed)
    step_ms = (DURATION_S - 2) * 1000 // KILLS
    times_ms = [1500 + number * step_ms + draw.randrange(step_ms // 2) for number in range(KILLS)]
    return "\n".join(
        f"  - {{kind: kill, at: {at}ms, lasts: 300ms, target: {target}}}" for at in times_ms
    )


def judged(file: Path) -> tuple[Run, dict[str, Any]]:
    done = streambed("run", file.name, "--json", "--no-report", cwd=file.parent)
    assert done.stdout, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    return Run(Path(summary["run"])), summary


def lives(run: Run, process: str) -> int:
    """How often a process was started."""
    lines = (run.directory / "history" / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return sum(
        event["event"] == "process_started" and event["process"] == process for event in events
    )


TENURE = ["life", "tenure", "partition"]


def assert_tenures_explain_rows(run: Run, reader: str) -> None:
    """Every row is of a tenure that was noted before; no tenure starts beyond the rows of earlier
    ones; no commit goes beyond the rows that were on disk.
    """
    of_reader = pl.col("consumer") == reader
    seen = run.ledger().seen.filter(of_reader)
    assignments = run.ledger().assignments.filter(of_reader)
    begun = assignments.filter(pl.col("change") == "assigned")
    assert seen.join(begun, on=TENURE, how="anti").is_empty()
    assert begun["life"].n_unique() >= 2, "on a busy machine some lives end before they read"
    assert set(begun["origin"]) <= {"earliest", "committed"} and "committed" in set(begun["origin"])
    assert assignments.filter(pl.col("change") == "closed").height == 2, (
        "the last life was not killed"
    )
    for start in begun.iter_rows(named=True):
        earlier = (pl.col("partition") == start["partition"]) & (pl.col("seen") < start["time"])
        read_to = seen.filter(earlier)["offset"].max()
        assert start["offset"] <= (-1 if read_to is None else read_to) + 1, start
    commits = run.ledger().commits.filter(of_reader & pl.col("error").is_null())
    assert commits.height > 0
    for commit in commits.iter_rows(named=True):
        of_life = (pl.col("partition") == commit["partition"]) & (pl.col("life") <= commit["life"])
        assert commit["offset"] <= seen.filter(of_life)["offset"].max() + 1, commit
    for _, life in seen.group_by("life"):
        assert life["seen"].is_sorted(), "rows are in the order in which they were seen"


@pytest.mark.timeout(400)
def test_readers_that_are_killed_ten_times_lose_nothing(tmp_path: Path) -> None:
    faults = "\n".join([kills("reader", seed=1), kills("to-file", seed=2)])
    (tmp_path / "experiment.yaml").write_text(
        EXPERIMENT.format(duration_s=DURATION_S, rate=RATE, faults=faults)
    )

    run, summary = judged(tmp_path / "experiment.yaml")

    assert [verdict["answer"] for verdict in summary["verdicts"]] == ["holds", "holds"], summary
    assert (lives(run, "reader"), lives(run, "to-file")) == (KILLS + 1, KILLS + 1)
    acked = run.ledger().sent.filter(pl.col("acked").is_not_null()).select("partition", "offset")
    stored = run.query("file", 'select "partition", "offset" from records')
    missing = acked.join(stored.cast(dict(acked.schema)), on=["partition", "offset"], how="anti")
    assert (acked.height, missing.height) == (RATE * DURATION_S, 0)
    for reader in ("reader", "to-file"):
        assert_tenures_explain_rows(run, reader)


@pytest.mark.timeout(200)
def test_a_consumer_that_commits_often_and_is_killed_loses_nothing(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("consumer_kills.yaml"), tmp_path)

    _, summary = judged(tmp_path / "consumer_kills.yaml")

    assert [verdict["answer"] for verdict in summary["verdicts"]] == ["holds"], summary
