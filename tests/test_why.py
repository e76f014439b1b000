"""Why: the journey of one record, from small histories."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from streambed.errors import UsageError
from streambed.record.history import History, empty
from streambed.record.ledger import schemas
from streambed.record.ledger.broker_files import BrokerFiles
from streambed.results.why import steps
from streambed.results.why.journey import Truncation, journey_of
from streambed.results.why.record_name import find_record
from tests.support.histories import (
    WALL_NS,
    acked,
    batch,
    event,
    heal,
    history_of,
    inject,
    ns,
    seen,
    sent,
    witnessed,
)


def kinds(history: History, record: str) -> list[str]:
    journey = journey_of(history, find_record(history, record))
    return [type(step).__name__ for step in journey.steps]


def broker_files(*, epochs: list[int], held: dict[str, int]) -> BrokerFiles:
    """Leaders b1, b2, … one per epoch at seconds 0, 10, …; at offset 5 each broker's epoch."""
    leaders = [
        ("lines", 0, epoch, f"b{at + 1}", ["b1", "b2"], (WALL_NS + ns(10 * at)) // 1_000_000)
        for at, epoch in enumerate(epochs)
    ]
    batches = [
        (broker, "lines", 0, 0, 9, epoch, 1, 10, -1, -1, False, None, 0)
        for broker, epoch in held.items()
    ]
    return BrokerFiles(
        log_batches=pl.DataFrame(batches, schema=empty(schemas.LOG_BATCHES).schema, orient="row"),
        leaders=pl.DataFrame(leaders, schema=empty(schemas.LEADERS).schema, orient="row"),
        group_commits=empty(schemas.GROUP_COMMITS),
        transaction_states=empty(schemas.TRANSACTION_STATES),
    )


def test_a_record_that_was_read_has_its_steps_in_order_of_time():
    history = history_of(acked("lines", "a=1"), seen("lines", "a=1"), witnessed("lines", "a=1"))

    assert kinds(history, "a=1") == ["Due", "Sent", "Acked", "Read", "InLog"]


def test_a_place_names_the_record_that_was_acknowledged_there():
    history = history_of(acked("lines", "a=1", offset=7))

    assert str(find_record(history, "lines/0@7")) == "a=1"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("foo", "'foo' names no record: write PRODUCER=NUMBER"),
        ("poe=1", "no producer 'poe' has a ledger in this run. Did you mean 'poet'?"),
        ("poet=9", "poet never sent number 9: it sent 1 to 1"),
        ("line/0@1", "no producer's record is known at line/0@1. Did you mean 'lines'?"),
    ],
)
def test_a_record_that_is_not_there_is_refused_with_what_there_is(text: str, says: str):
    history = history_of(acked("lines", "poet=1"))

    with pytest.raises(UsageError, match=says.replace("?", r"\?")):
        find_record(history, text)


def test_a_record_without_an_acknowledgement_says_what_became_of_it():
    history = history_of(sent("lines", "a=1"))

    assert kinds(history, "a=1") == ["Due", "Sent", "Failed"]


def test_a_fault_during_the_journey_is_a_step_and_one_after_it_is_not():
    history = history_of(
        acked("lines", "a=1"),
        seen("lines", "a=1", at=5),
        inject(3, "cut"),
        heal(4, "cut"),
        inject(8, "kill"),
        heal(9, "kill"),
    )

    faults = [
        step.fault
        for step in journey_of(history, find_record(history, "a=1")).steps
        if isinstance(step, steps.FaultActive)
    ]
    assert faults == ["cut"]


def test_the_batch_that_took_a_record_is_a_step():
    history = history_of(acked("lines", "a=1"), batch("shout", 2, 3, lines=(0, 2)))

    assert "Taken" in kinds(history, "a=1")


def test_a_topic_that_was_not_read_back_says_nothing_about_the_log():
    history = history_of(acked("lines", "a=1"), witnessed("other", "b=1"))

    assert "InLog" not in kinds(history, "a=1")


def test_a_record_cut_off_by_a_new_leader_names_both_leaders_and_epochs():
    plain = history_of(
        acked("lines", "a=5"),
        witnessed("lines", "a=6"),
        seen("lines", "a=6"),
        event(0.5, "process_started", component="reader", process="reader"),
    )
    files = broker_files(epochs=[3, 4], held={"b1": 4, "b2": 4})
    history = History(
        events=plain.events,
        ledger=plain.ledger,
        components=plain.components,
        broker_files=files,
    )

    journey = journey_of(history, find_record(history, "a=5"))

    assert journey.mechanism == Truncation(
        old_leader="b1", old_epoch=3, new_leader="b2", new_epoch=4
    )
    held = [step for step in journey.steps if isinstance(step, steps.OnBroker)]
    assert [(step.broker, step.epoch, step.same) for step in held] == [
        ("b1", 4, False),
        ("b2", 4, False),
    ]


def test_a_record_below_the_start_of_the_log_was_deleted():
    state = event(
        150,
        "cluster_state",
        component="kafka",
        partitions=[
            {
                "topic": "lines",
                "partition": 0,
                "leader": "b1",
                "replicas": ["b1"],
                "in_sync": ["b1"],
                "start": 3,
                "end": 9,
            }
        ],
    )
    history = history_of(
        acked("lines", "a=1"), acked("lines", "a=5"), witnessed("lines", "a=5"), state
    )

    journey = journey_of(history, find_record(history, "a=1"))

    assert steps.Deleted(start=3) in journey.steps
    assert journey.mechanism is None


def test_a_batch_that_read_less_than_its_range_is_said_to():
    short = replace(batch("counter", 4, 5, lines=(1, 4)), rows=1)
    history = history_of(*(acked("lines", f"a={number}") for number in (1, 2, 3)), short)

    journey = journey_of(history, find_record(history, "a=2"))

    (taken,) = [step for step in journey.steps if isinstance(step, steps.Taken)]
    assert taken.missing == 2
    assert "did not read 2 records" in steps.text_of(taken)
