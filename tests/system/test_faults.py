"""Checks that must fail do: a planted loss is named, a planted delay is found; the same without
them holds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.held_up import measure_in_calm
from tests.support.running import streambed

pytestmark = pytest.mark.system

EXPERIMENT = """
version: 1
name: planted
duration: 8s
topology:
  switches: [core]
  links:
    - {{ends: [edge, core], delay: {delay}}}
    - {{ends: [broker, core], delay: 1ms}}
    - {{ends: [home, core], delay: 1ms}}
components:
  kafka: {{kind: kafka, nodes: [broker], topics: {{lines: {{}}}}}}
  poet: {{kind: producer, node: edge, writes: lines, size: 100B, rate: 200/s}}
  reader: {{kind: consumer, node: home, reads: lines}}
{more}
checks:
  - {{kind: no_loss, topic: lines}}
  - {{kind: latency, of: reader, p99: {limit}}}
"""
LOSS = """
  thief: {{kind: command, node: broker, argv: [{python}, {thief}]}}
faults:
  - {{kind: cut, at: 2s, lasts: 4s, link: [home, core]}}
"""
KILL = """
faults:
  - {kind: kill, at: 2s, lasts: 2s, target: kafka}
"""
THIEF = """
import os, time
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

while not os.path.exists(os.environ["STREAMBED_RUN"] + "/gates/load"):
    time.sleep(0.01)
time.sleep(4)  # The reader was cut off at 2 s: since then records are acked and not read.
client = AdminClient({"bootstrap.servers": os.environ["STREAMBED_BOOTSTRAP"]})
client.delete_records([TopicPartition("lines", 0, 600)])[TopicPartition("lines", 0, 600)].result()
"""


def judged(folder: Path, text: str) -> tuple[int, dict[str, Any]]:
    """Run the experiment; return its exit status and summary.

    On a machine that is held up, a verdict about times is rightly unknown: then none is measured.
    """
    (folder / "experiment.yaml").write_text(text)
    return measure_in_calm(lambda: judged_once(folder))


def judged_once(folder: Path) -> tuple[int, dict[str, Any]]:
    done = streambed("run", "experiment.yaml", "--json", "--no-report", cwd=folder)
    assert done.stdout, done.stderr
    summary = json.loads(done.stdout)
    answers = [verdict["answer"] for verdict in summary["verdicts"]]
    assert "unknown" not in answers, summary
    return done.returncode, summary


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future]]:
    """A thief and a kill at once: their limits are so wide that a busy machine does no harm."""
    stolen, killed = (tmp_path_factory.mktemp(name) for name in ("stolen", "killed"))
    (stolen / "thief.py").write_text(THIEF)
    loss = LOSS.format(python=sys.executable, thief=stolen / "thief.py")
    with ThreadPoolExecutor() as pool:
        texts = {
            folder: EXPERIMENT.format(delay="5ms", limit="20s", more=more)
            for folder, more in ((stolen, loss), (killed, KILL))
        }
        yield {folder.name[:6]: pool.submit(judged, folder, text) for folder, text in texts.items()}


def test_records_deleted_behind_the_readers_back_are_named_as_lost_in_the_log(planted):
    status, summary = planted["stolen"].result()

    no_loss, latency = summary["verdicts"]
    # What was surely never seen is slower than any limit.
    assert (status, no_loss["answer"], latency["answer"]) == (1, "fails", "fails"), summary
    assert latency["evidence"]["lost"] == len(no_loss["evidence"]["lost"])
    lost = no_loss["evidence"]["lost"]
    assert {row["where"] for row in lost} == {"lost in the log"}
    assert {row["producer"] for row in lost} == {"poet"}
    assert 100 < len(lost) <= 600
    assert "poet=" in no_loss["says"]


def test_a_killed_broker_comes_back_and_nothing_acked_is_lost(planted):
    status, summary = planted["killed"].result()

    assert (status, [verdict["answer"] for verdict in summary["verdicts"]]) == (
        0,
        ["holds", "holds"],
    ), summary


def test_a_link_slower_than_the_limit_fails_the_latency_check(tmp_path):
    status, summary = judged(tmp_path, EXPERIMENT.format(delay="300ms", limit="200ms", more=""))

    no_loss, latency = summary["verdicts"]
    assert (status, no_loss["answer"], latency["answer"]) == (1, "holds", "fails"), summary
