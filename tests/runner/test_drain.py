import pytest

from streambed import Command, Consumer, Kafka, Producer, Sink
from streambed.errors import ProcessError
from streambed.kinds.components.component import ComponentBase
from streambed.kinds.components.progress import Position
from streambed.record.events import Wait
from streambed.record.gauges import ProducerGauge, ReaderGauge
from streambed.runner import drain
from streambed.runner.drain import Drain, behind, final_states, merge_positions
from tests.support.fakes import FakeWorld

POET = Producer(name="poet", node="edge", writes="lines")
READER = Consumer(name="reader", node="edge", reads="lines")


class Broker(ComponentBase):
    """A broker whose ends a test decides."""

    name = "broker"
    kind = "broker"

    def __init__(self, ends):
        self.ends = ends

    @property
    def as_broker(self):
        return self

    @property
    def partitions(self):
        return {"lines": 2, "words": 1}

    def end_positions(self, world):
        return self.ends


@pytest.fixture
def world():
    return FakeWorld()


def waits_of(world, *components):
    asked = Drain(world, components)
    asked.done()
    return asked.waits


def lag(reader, partition, records, topic="lines"):
    return Wait(
        reason="behind", reader=reader, topics=(topic,), partition=partition, records=records
    )


def test_a_reader_that_reached_every_end_is_not_behind():
    position = Position(reader="reader", topics=("lines",), next={"lines": {0: 7, 1: 3}})

    assert list(behind(position, {"lines": {0: 7, 1: 3}})) == []


def test_a_reader_is_behind_by_what_it_has_not_read_in_each_partition_of_its_topics():
    ends = {"lines": {0: 10, 1: 4}, "words": {0: 5}, "others": {0: 99}}
    position = Position(reader="reader", topics=("lines", "words"), next={"lines": {0: 7, 1: 4}})

    assert list(behind(position, ends)) == [lag("reader", 0, 3), lag("reader", 0, 5, topic="words")]


def test_a_group_has_come_as_far_as_its_farthest_member():
    one = Position(reader="readers", topics=("lines",), next={"lines": {0: 4, 1: 9}}, seen=13)
    other = Position(reader="readers", topics=("words",), next={"lines": {0: 6}}, seen=6)

    assert merge_positions([one, other]) == [
        Position(reader="readers", topics=("lines", "words"), next={"lines": {0: 6, 1: 9}}, seen=19)
    ]


def test_it_waits_for_records_in_flight_and_for_readers_that_are_behind(world):
    world.gauges = {
        "poet": ProducerGauge(ready=True, open=4),
        "reader": ReaderGauge(positions={"lines": {0: 7, 1: 3}}),
    }
    broker = Broker({"lines": {0: 10, 1: 3}, "words": {0: 0}})

    in_flight = Wait(reason="in_flight", reader="poet", topics=("lines",), records=4)
    assert waits_of(world, broker, POET, READER) == (in_flight, lag("reader", 0, 3))


def test_the_drain_is_done_at_once_when_all_is_read_and_nothing_may_be_written(world):
    world.gauges = {
        "poet": ProducerGauge(done=True),
        "reader": ReaderGauge(positions={"lines": {0: 10, 1: 3}}),
    }

    assert Drain(world, (Broker({"lines": {0: 10, 1: 3}, "words": {0: 0}}), POET, READER)).done()


def test_the_drain_waits_a_while_where_a_program_may_still_write(world, monkeypatch):
    monkeypatch.setattr(drain, "now_ns", lambda: now)
    asked = Drain(
        world,
        (
            Broker({"lines": {0: 0}, "words": {0: 0}}),
            Command(name="job", node="edge", argv=("true",)),
        ),
    )

    now = 1
    assert not asked.done()
    now += drain.SETTLE_NS
    assert asked.done()


def test_the_drain_does_not_wait_for_dead_processes(world):
    world.gauges = {"poet": ProducerGauge(open=4)}
    world.find("poet").alive = world.find("reader").alive = False

    assert waits_of(world, Broker({"lines": {0: 10}, "words": {0: 0}}), POET, READER) == ()


def test_a_topic_that_is_not_answered_for_is_unreadable_and_the_others_are_not(world):
    world.gauges = {"reader": ReaderGauge(positions={"lines": {0: 1}})}

    assert waits_of(world, Broker({"lines": {0: 1}}), READER) == (
        Wait(reason="unreadable", topics=("words",)),
    )


def test_a_partition_without_an_end_is_unreadable_and_hides_no_other(world):
    world.gauges = {"reader": ReaderGauge(positions={"lines": {0: 1, 1: 1}})}
    broker = Broker({"lines": {0: None, 1: 5}, "words": {0: 0}})

    unreadable = Wait(reason="unreadable", topics=("lines",), partition=0)
    assert waits_of(world, broker, READER) == (unreadable, lag("reader", 1, 4))


def test_members_of_one_group_are_judged_together(world):
    members = [
        Consumer(name=name, node="edge", reads="lines", group="readers") for name in ("one", "two")
    ]
    world.gauges = {
        "one": ReaderGauge(positions={"lines": {0: 10}}),
        "two": ReaderGauge(positions={"lines": {1: 2}}),
    }

    assert waits_of(world, Broker({"lines": {0: 10, 1: 3}, "words": {0: 0}}), *members) == (
        lag("readers", 1, 1),
    )


def test_consumers_that_do_not_share_are_separate_readers(world):
    reader = Consumer(name="reader", nodes=("h1", "h2"), reads="lines", share=False)
    world.gauges = {
        "reader/h1": ReaderGauge(positions={"lines": {0: 10}}),
        "reader/h2": ReaderGauge(positions={"lines": {0: 8}}),
    }

    assert waits_of(world, Broker({"lines": {0: 10}, "words": {0: 0}}), reader) == (
        lag("reader/h2", 0, 2),
    )


def test_a_sink_is_a_reader_too(world):
    sink = Sink(name="sink", node="edge", reads="lines", store="store", table="records")
    world.gauges = {"sink": ReaderGauge(positions={"lines": {0: 8}})}

    assert waits_of(world, Broker({"lines": {0: 10}, "words": {0: 0}}), sink) == (
        lag("sink", 0, 2),
    )


def test_without_positions_a_reader_has_caught_up_when_nothing_arrived_for_a_while(
    world, monkeypatch
):
    monkeypatch.setattr(drain, "now_ns", lambda: now)
    asked = Drain(world, (Broker(None), READER))
    arriving = (Wait(reason="arriving", reader="reader", topics=("lines",)),)

    now, world.gauges["reader"] = drain.QUIET_NS * 5, ReaderGauge(seen=5)
    assert not asked.done() and asked.waits == arriving
    now += drain.QUIET_NS - 1
    assert not asked.done()
    world.gauges["reader"] = ReaderGauge(seen=6)
    now += 1
    assert not asked.done() and asked.waits == arriving
    now += drain.QUIET_NS
    assert asked.done()


def test_it_waits_for_the_end_of_a_command_that_is_declared_to_end(world):
    command = Command(name="job", node="edge", argv=("true",), ends="ended")

    assert waits_of(world, command) == (Wait(reason="running", reader="job"),)
    world.find("job").alive = False
    assert waits_of(world, command) == ()


def test_a_command_in_another_state_than_declared_fails_the_run(world):
    command = Command(name="job", node="edge", argv=("true",), ends="running")

    final_states(world, [command, Kafka(name="kafka", nodes=("broker",))])
    world.find("job").alive = False
    with pytest.raises(
        ProcessError,
        match="job on edge has ended after the drain, but the declaration says `ends: running`",
    ):
        final_states(world, [command])
