"""Triggers: how they are written, what they refuse, and when they come."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from streambed import Kafka, Kill, Producer, SparkJob
from streambed.kinds.faults.when.schedule import trigger_problems
from streambed.kinds.faults.when.triggers import (
    Acked,
    BatchUncommitted,
    Committing,
    LeaderChanges,
    count_trigger,
    event_trigger,
)
from streambed.plan import ProcessSpec
from streambed.record.gauges import ProducerGauge
from tests.support.fakes import FakeWorld

COMPONENTS = {
    "kafka": Kafka(name="kafka", nodes=("b1",), topics={"lines": {}, "words": {}, "rest": {}}),
    "poet": Producer(name="poet", node="edge", writes="lines"),
    "banker": Producer(name="banker", node="edge", writes="rest", transaction={"records": 5}),
    "both": Producer(name="both", node="edge", writes=("words", "rest")),
    "shout": SparkJob(name="shout", node="edge", job="shout.py", reads="lines"),
    "remote": SparkJob(name="remote", node="edge", job="shout.py", checkpoint="hdfs"),
}


def problems(**timing: str) -> list[tuple[str, str]]:
    fault = Kill(target="poet", lasts="2s", **timing)
    return [(problem.key, problem.says) for problem in trigger_problems(fault, COMPONENTS)]


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("leader of lines/2 changes", LeaderChanges("lines", 2)),
        ("shout has written batch 7 and not committed it", BatchUncommitted("shout", 7)),
        ("shout has written a batch and not committed it", BatchUncommitted("shout")),
        ("poet is committing", Committing("poet")),
    ],
)
def test_a_trigger_reads_back_what_it_writes(text, trigger):
    assert event_trigger(text) == trigger
    assert str(trigger) == text


def test_a_count_reads_back_what_it_writes():
    assert count_trigger("1000 acked on lines") == Acked(1000, "lines")
    assert str(Acked(1000, "lines")) == "1000 acked on lines"


def test_a_trigger_of_another_form_is_refused_with_the_forms():
    with pytest.raises(ValidationError, match="is not a trigger: write 'leader of TOPIC/PART"):
        Kill(target="poet", lasts="2s", when="poet dies")
    with pytest.raises(ValidationError, match="such as '1000 acked on lines'"):
        Kill(target="poet", lasts="2s", after="a while")
    with pytest.raises(ValidationError, match="write it under `after`"):
        Kill(target="poet", lasts="2s", when="1000 acked on lines")


@pytest.mark.parametrize(
    ("timing", "says"),
    [
        ({"after": "9 acked on liens"}, "there is no topic 'liens'. Did you mean 'lines'?"),
        (
            {"after": "9 acked on words"},
            "'both' writes words and rest and counts them together: give it one topic",
        ),
        ({"when": "leader of lines/4 changes"}, "'lines' has only partition 0, not 4"),
        (
            {"when": "shuot has written a batch and not committed it"},
            "there is no job 'shuot'. Did you mean 'shout'?",
        ),
        (
            {"when": "remote has written a batch and not committed it"},
            "'remote' writes no log of batches to its host's disk, so none can be seen",
        ),
        (
            {"when": "poet is committing"},
            "'poet' sends no transactions: only such a producer commits",
        ),
        (
            {"when": "bankr is committing"},
            "there is no transactional producer 'bankr'. Did you mean 'banker'?",
        ),
    ],
)
def test_a_trigger_that_names_nothing_is_a_problem(timing, says):
    assert problems(**timing) == [(next(iter(timing)), says)]


def test_triggers_that_can_come_are_no_problem():
    assert problems(after="9 acked on lines") == []
    assert problems(when="banker is committing") == []
    assert problems(when="shout has written batch 7 and not committed it") == []


def checkpoint(folder: Path, *, written: range, committed: range) -> FakeWorld:
    query = folder / "data" / "shout" / "checkpoint"
    for name, batches in (("offsets", written), ("commits", committed)):
        (query / name).mkdir(parents=True)
        for batch in batches:
            (query / name / str(batch)).touch()
    return FakeWorld(folder)


def test_a_batch_counts_when_it_is_written_and_not_committed(tmp_path):
    world = checkpoint(tmp_path, written=range(8), committed=range(7))

    assert BatchUncommitted("shout", 7).watch(world, COMPONENTS)() is not None
    assert BatchUncommitted("shout").watch(world, COMPONENTS)() is not None
    assert BatchUncommitted("shout", 6).watch(world, COMPONENTS)() is None
    assert BatchUncommitted("shout", 8).watch(world, COMPONENTS)() is None


def test_a_committed_batch_is_not_looked_for_before_the_checkpoint_exists(tmp_path):
    assert BatchUncommitted("shout").watch(FakeWorld(tmp_path), COMPONENTS)() is None


def test_a_count_includes_what_a_producer_sent_before_it_was_started_again():
    world = FakeWorld()
    world.plan.processes = (ProcessSpec(name="poet", component="poet", node="edge", argv=()),)
    look = Acked(100, "lines").watch(world, COMPONENTS)

    seen = []
    for acked in (60, 80, 10, 20):
        world.gauges["poet"] = ProducerGauge(acked=acked)
        seen.append(look() is not None)

    assert seen == [False, False, False, True]
