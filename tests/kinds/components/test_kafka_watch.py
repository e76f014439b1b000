from streambed.kinds.components.kafka.protocol import Partition
from streambed.kinds.components.kafka.watch import KafkaWatch, newest
from streambed.record.events import ControllerChanged, InSyncChanged, LeaderChanged


def part(leader, epoch, *in_sync):
    return Partition(epoch, leader, (1, 2, 3), in_sync)


def watch():
    return KafkaWatch("kafka", {1: "b1", 2: "b2", 3: "b3"}, ("b1", "b2", "b3"))


def test_the_newest_epoch_counts_and_at_one_epoch_the_smaller_set_in_sync():
    old, new = {"lines": {0: part(1, 3, 1, 2, 3)}}, {"lines": {0: part(2, 4, 2, 3)}}

    assert newest([old, new, old]) == new
    assert newest([{"lines": {0: part(1, 3, 1, 2, 3)}}, {"lines": {0: part(1, 3, 1, 2)}}]) == {
        "lines": {0: part(1, 3, 1, 2)}
    }


def test_a_new_leader_and_a_smaller_set_in_sync_are_recorded_once():
    seen = watch()
    assert list(seen.changes([{"lines": {0: part(1, 3, 1, 2, 3)}}], "b3")) == [
        ControllerChanged(component="kafka", was="", now="b3"),
        LeaderChanged(component="kafka", topic="lines", partition=0, was="", now="b1", epoch=3),
    ]

    changes = list(seen.changes([{"lines": {0: part(2, 4, 2, 3)}}], "b3"))

    assert changes == [
        LeaderChanged(component="kafka", topic="lines", partition=0, was="b1", now="b2", epoch=4),
        InSyncChanged(
            component="kafka", topic="lines", partition=0, was=("b1", "b2", "b3"), now=("b2", "b3")
        ),
    ]
    assert list(seen.changes([{"lines": {0: part(2, 4, 2, 3)}}], "b3")) == []


def test_where_nobody_answers_nothing_has_changed():
    seen = watch()
    list(seen.changes([{"lines": {0: part(1, 3, 1, 2, 3)}}], "b1"))

    assert list(seen.changes([], "")) == []


def test_samples_count_leaders_and_what_lacks_replicas():
    seen = watch()
    list(
        seen.changes(
            [{"lines": {0: part(1, 3, 1, 2, 3), 1: part(-1, 3, 2), 2: part(1, 3, 1)}}], "b1"
        )
    )

    values = {(sample.metric, sample.of): sample.value for sample in seen.samples()}

    assert values["leads_partitions", "kafka/b1"] == 2
    assert values["in_sync_partitions", "kafka/b2"] == 2
    assert (values["under_replicated", "kafka"], values["leaderless", "kafka"]) == (2, 1)
