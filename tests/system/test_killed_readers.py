"""A consumer or sink that is killed again and again reads what it had not noted once more: nothing
acknowledged looks lost.
"""

from __future__ import annotations

import json
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from streambed import Run
from tests.support.running import streambed

pytestmark = [pytest.mark.system, pytest.mark.together(65)]

KILLS = 20
RATE = 2000
DURATION_S = 38
TOGETHER_LIMIT_S = 300
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


Answers = list[tuple[str, str]]
"""The answer and the sentence of each verdict."""


def kills(target: str, seed: int) -> str:
    """Kills at irregular times over the whole load."""
    draw = random.Random(seed)
    step_ms = (DURATION_S - 2) * 1000 // KILLS
    times_ms = [1500 + number * step_ms + draw.randrange(step_ms // 2) for number in range(KILLS)]
    return "\n".join(
        f"  - {{kind: kill, at: {at}ms, lasts: 300ms, target: {target}}}" for at in times_ms
    )


@pytest.fixture(scope="module")
def judged_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Run, Answers]]:
    """Both experiments, run beside each other: each run with the answers of its checks."""
    folder = tmp_path_factory.mktemp("killed-readers")
    shutil.copy(Path(__file__).with_name("consumer_kills.yaml"), folder)
    faults = "\n".join([kills("reader", seed=1), kills("to-file", seed=2)])
    experiment = EXPERIMENT.format(duration_s=DURATION_S, rate=RATE, faults=faults)
    (folder / "killed_readers.yaml").write_text(experiment)
    names = ["killed_readers", "consumer_kills"]
    with ThreadPoolExecutor(len(names)) as threads:
        return dict(zip(names, threads.map(partial(judge_run, folder), names), strict=True))


def judge_run(folder: Path, name: str) -> tuple[Run, Answers]:
    done = streambed(
        "run", f"{name}.yaml", "--json", "--no-report", cwd=folder, limit_s=TOGETHER_LIMIT_S
    )
    assert done.stdout, done.stderr
    summary = json.loads(done.stdout)
    answers = [(verdict["answer"], verdict["says"]) for verdict in summary["verdicts"]]
    return Run(Path(summary["run"])), answers


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
def test_readers_that_are_killed_twenty_times_lose_nothing(
    judged_runs: dict[str, tuple[Run, Answers]],
) -> None:
    run, answers = judged_runs["killed_readers"]

    assert [answer for answer, _ in answers] == ["holds", "holds"], answers
    assert (lives(run, "reader"), lives(run, "to-file")) == (KILLS + 1, KILLS + 1)
    acked = run.ledger().sent.filter(pl.col("acked").is_not_null()).select("partition", "offset")
    stored = run.query("file", 'select "partition", "offset" from records')
    missing = acked.join(stored.cast(dict(acked.schema)), on=["partition", "offset"], how="anti")
    assert (acked.height, missing.height) == (RATE * DURATION_S, 0)
    for reader in ("reader", "to-file"):
        assert_tenures_explain_rows(run, reader)


@pytest.mark.timeout(400)
def test_a_consumer_that_commits_often_and_is_killed_loses_nothing(
    judged_runs: dict[str, tuple[Run, Answers]],
) -> None:
    run, answers = judged_runs["consumer_kills"]

    assert [answer for answer, _ in answers] == ["holds"], answers
    assert lives(run, "reader") == 5
    assert run.ledger().sent["acked"].count() == 9000
