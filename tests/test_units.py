"""Quantities keep their unit and are written as they are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambed.errors import UsageError
from streambed.units import Bandwidth, Duration, Frequency, Quantity, Share, Size

QUANTITIES = [Bandwidth, Duration, Frequency, Share, Size]
NUMBERS = st.one_of(
    st.integers(0, 10**6).map(str),
    st.decimals(0, 10**6, places=9, allow_nan=False, allow_infinity=False).map(
        lambda number: f"{number:f}"
    ),
)


@given(st.sampled_from(QUANTITIES), NUMBERS, st.data())
def test_a_quantity_is_written_as_text_that_reads_back_the_same(
    kind: type[Quantity], number: str, choice: st.DataObject
) -> None:
    quantity = kind.parse(number + choice.draw(st.sampled_from(list(kind.units))))

    assert kind.parse(str(quantity)) == quantity


@given(st.sampled_from(QUANTITIES), st.floats(0, 1e15, allow_subnormal=False))
def test_a_quantity_made_from_a_number_reads_back_the_same(
    kind: type[Quantity], value: float
) -> None:
    assert kind.parse(str(kind(value))) == kind(value)


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Duration(0), "0s"),
        (Bandwidth(0), "0bit"),
        (Share(0), "0%"),
        (Frequency(0), "0/s"),
        (Size(0), "0B"),
        (Duration.parse("1500ms"), "1500ms"),
        (Duration.parse("0.5ms"), "500us"),
        (Duration.parse("120s"), "2min"),
        (Bandwidth.parse("1000Mbit"), "1Gbit"),
        (Share.parse("12.345678%"), "12.345678%"),
        (Frequency.parse("7/min"), "7/min"),
        (Size(128 << 20), "128MiB"),
    ],
)
def test_a_quantity_is_written_in_its_largest_whole_unit(quantity: Quantity, text: str) -> None:
    assert str(quantity) == text


@pytest.mark.parametrize(
    "found",
    ["20", 20, "ms", "-1s", "1 s 2", "20 MS", "٣s", "", None, True, "1e3s", "9" * 400 + "h"],
)
def test_what_is_not_a_number_with_a_known_unit_is_refused(found: object) -> None:
    with pytest.raises(UsageError, match="duration"):
        Duration.parse(found)


def test_the_refusal_says_what_is_allowed() -> None:
    with pytest.raises(UsageError) as refused:
        Duration.parse("20")

    assert (
        str(refused.value)
        == "'20' is not a duration: write a number and one of ns, us, ms, s, min, h, such as '20ms'"
    )


def test_spaces_around_the_unit_do_not_matter() -> None:
    assert Bandwidth.parse(" 10 Mbit ").bps == 10_000_000


def test_every_quantity_gives_whole_or_plain_numbers() -> None:
    assert (Duration.parse("1.5s").ns, Duration.parse("1.5s").ms, Duration.parse("1.5s").s) == (
        1_500_000_000,
        1500.0,
        1.5,
    )
    assert (
        Share.parse("1%").fraction,
        Frequency.parse("30/min").per_s,
        Size.parse("1KiB").bytes,
    ) == (0.01, 0.5, 1024)
