from fakes import FakeWorld

from streambed.record.gauges import ReaderGauge
from streambed.runner.drain import behind, group_positions


def test_a_reader_that_reached_every_end_is_not_behind():
    assert behind("reader", ["lines"], {"lines": {0: 7, 1: 3}}, {"lines": {0: 7, 1: 3}}) == ""


def test_a_reader_is_behind_by_what_it_has_not_read_in_all_its_topics():
    ends = {"lines": {0: 10}, "words": {0: 5}, "others": {0: 99}}

    assert behind("reader", ["lines", "words"], {"lines": {0: 7}}, ends) == "reader is 8 records behind"


def test_a_group_has_come_as_far_as_its_farthest_member():
    world = FakeWorld()
    world.gauges = {"a": ReaderGauge(positions={"lines": {0: 4, 1: 9}}), "b": ReaderGauge(positions={"lines": {0: 6}})}

    assert group_positions(world, ["a", "b"]) == {"lines": {0: 6, 1: 9}}
