import ctypes

import numpy as np
import pytest

from streambed.agents.kafka import librdkafka
from streambed.agents.producer.in_flight import InFlight
from streambed.agents.producer.record_names import RecordNames


@pytest.mark.parametrize("sequence", [0, 9, 10, 99, 100, 999, 1000, 1001, 1999, 123_456_789_012])
def test_a_record_is_named_after_its_producer_and_its_number(sequence: int) -> None:
    names = RecordNames("poet/h1")

    names.hold(sequence)

    assert names.first <= sequence < names.past
    for number in (names.first, sequence, names.past - 1):
        assert ctypes.string_at(*names.address_of(number)) == b"poet/h1/%d" % number
    addresses, length = names.addresses_of(np.array([sequence]))
    assert (addresses.tolist(), length) == (
        [names.address_of(sequence)[0]],
        names.address_of(sequence)[1],
    )


def test_what_is_known_of_a_record_stays_until_it_is_decided() -> None:
    in_flight = InFlight()
    known = np.arange(4 * 10_000).reshape(-1, 4)
    places = np.concatenate([in_flight.add(part) for part in np.split(known, 100)])
    assert len(set(places.tolist())) == 10_000

    assert (in_flight.take(places[1::2]) == known[1::2]).all()
    again = np.append(in_flight.add(known[:3999]), in_flight.add_one(*known[3999].tolist()))

    assert set(again.tolist()).isdisjoint(places[::2].tolist())
    assert (in_flight.take(places[::2]) == known[::2]).all()
    assert (in_flight.take(again) == known[:4000]).all()


@pytest.mark.parametrize(
    "found",
    [
        (b"one", b"", b"three"),
        (b"one", None, b""),
        (b"same",) * 3,
        (None,) * 3,
        (b"one", b"one", None),
    ],
)
def test_many_bytes_lie_where_each_of_them_does(found: tuple[bytes | None, ...]) -> None:
    addresses, lengths = np.broadcast_arrays(*librdkafka.addresses_of(found), np.empty(3))[:2]

    assert list(zip(addresses.tolist(), lengths.tolist(), strict=True)) == [
        librdkafka.address_of(each) for each in found
    ]


def test_a_library_of_another_layout_is_refused() -> None:
    librdkafka.check_version(0x021000FF)

    with pytest.raises(SystemExit, match="librdkafka 3; the ledger needs 2"):
        librdkafka.check_version(0x030000FF)


def test_a_setting_that_no_client_has_is_refused_in_words() -> None:
    with pytest.raises(
        SystemExit, match=r"cannot have linger\.msec: 5: No such configuration property"
    ):
        librdkafka.producer({"linger.msec": "5"})
