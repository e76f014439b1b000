"""The check `ordered`: records of a key are seen in the order of the log."""

from streambed.kinds.checks import Ordered
from tests.support.histories import (
    acked,
    history_of,
    kept,
    seen,
    stored,
    witnessed,
)
from tests.support.pipelines import PIPELINE, declared


def keyed(*names, topic="lines", by="witness"):
    """Records of one key at rising offsets."""
    return [
        seen(topic, name, by=by, offset=offset, at=1000 + offset, key="k")
        for offset, name in enumerate(names)
    ]


def ordered(*lines, to="reader", **keys):
    check = Ordered(topic="lines", to=to, **keys)
    assert check.problems(declared(PIPELINE)) == []
    return check.judge(history_of(*lines, components=PIPELINE))


INPUT = [acked("lines", "a=1"), *keyed("a=0", "a=1", "a=2")]


def saw(*numbers):
    return [
        seen("lines", f"a={number}", at=at, key="k") for at, number in enumerate(numbers, start=5)
    ]


def test_a_group_that_sees_a_key_in_the_order_of_the_log_is_ordered():
    assert ordered(*INPUT, *saw(0, 1, 2)).holds


def test_a_record_after_a_later_one_of_its_key_fails():
    verdict = ordered(*INPUT, *saw(0, 2, 1))

    assert verdict.fails
    assert verdict.says.startswith("1 output of reader after a later one of the same key: a=1")


def test_a_record_that_is_repeated_at_once_fails():
    assert ordered(*INPUT, *saw(0, 1, 1, 2)).evidence["repeated"] == 1


def test_different_keys_have_no_order():
    lines = [
        seen("lines", "a=0", by="witness", key="x"),
        seen("lines", "a=1", by="witness", key="y"),
        seen("lines", "a=1", at=5, key="y"),
        seen("lines", "a=0", at=6, key="x"),
    ]

    assert ordered(*lines).holds


def test_without_keys_the_order_is_unknown():
    assert ordered(witnessed("lines", "a=1"), seen("lines", "a=1")).answer == "unknown"


def test_outputs_of_a_topic_are_ordered_by_their_partition():
    shuffled = keyed("a=0", "a=2", "a=1", topic="shouted")

    assert ordered(*INPUT, *shuffled, to="shouted").fails
    assert ordered(*INPUT, *keyed("a=0", "a=1", "a=2", topic="shouted"), to="shouted").holds


def test_rows_of_a_store_are_ordered_by_a_column():
    columns = ["topic", "partition", "offset", "id"]
    rows = [("lines", 0, 0, 1), ("lines", 0, 2, 2), ("lines", 0, 1, 3)]
    table = stored("archive", "select * from words", columns, *rows)

    assert ordered(*INPUT, table, to="archive", table="words", order="id").fails
    (problem,) = Ordered(topic="lines", to="archive", table="words").problems(declared(PIPELINE))
    assert problem.key == "order"


def test_outputs_of_a_key_in_two_partitions_have_no_order_whatever_other_topics_are_named():
    """One of three outputs names a record of another topic."""
    places = [("lines", 2, 0), ("other", 0, 1), ("lines", 1, 2)]
    outputs = []
    for number, (topic, offset, partition) in enumerate(places):
        value = f'{{"t": "{topic}", "p": 0, "o": {offset}}}'
        outputs.append(
            seen("shouted", f"x={number}", by="witness", partition=partition, offset=0, key="k")
        )
        outputs.append(kept("shouted", value, offset=0, partition=partition))
    identity = {"topic": "$.t", "partition": "$.p", "offset": "$.o"}

    assert ordered(*INPUT, *outputs, to="shouted", identity=identity).holds
