import numpy as np
import pytest

from streambed.agents import librdkafka
from streambed.agents.noting_sender import UnderWay
from streambed.agents.record_names import RecordNames


@pytest.mark.parametrize("sequence", [0, 9, 10, 99, 100, 999, 1000, 1001, 1999, 123_456_789_012])
def test_a_record_is_named_after_its_producer_and_its_number(sequence: int) -> None:
    names = RecordNames("poet/h1")

    names.turn_to(sequence)

    assert names.name_of(sequence) == b"poet/h1/%d" % sequence
    assert names.name_of(names.first) == b"poet/h1/%d" % names.first
    assert names.name_of(names.past - 1) == b"poet/h1/%d" % (names.past - 1)
    assert names.first <= sequence < names.past


def test_a_place_is_used_again_once_its_record_is_decided() -> None:
    under_way = UnderWay()
    places = [under_way.free.pop() for _ in range(3)]
    for number, place in enumerate(places):
        under_way.sequence[place], under_way.due[place], under_way.sent[place] = number, 10 + number, 20 + number
    under_way.grow()

    found = under_way.take(np.array(places[:2]))

    assert found.tolist() == [[0, 1], [10, 11], [20, 21]]
    assert set(places[:2]) < set(under_way.free) and places[2] not in under_way.free


def test_a_library_of_another_layout_is_refused() -> None:
    librdkafka.check_version(0x021000FF)

    with pytest.raises(SystemExit, match="librdkafka 3; the ledger needs 2"):
        librdkafka.check_version(0x030000FF)


def test_a_setting_that_no_client_has_is_refused_in_words() -> None:
    with pytest.raises(SystemExit, match=r"cannot have linger\.msec: 5: No such configuration property"):
        librdkafka.producer({"linger.msec": "5"})
