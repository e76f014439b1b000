"""What one direction of a link may be declared to do."""

from __future__ import annotations

import pytest

from streambed.declare.link import Link
from streambed.kinds.direction import Direction
from streambed.kinds.direction_words import shape_words
from streambed.plan import Shape
from streambed.units import Duration

MS = 1_000_000


def problems(**given: object) -> list[tuple[str, str]]:
    return [(problem.key, problem.says) for problem in Link(ends=("a", "b"), **given).problems()]


@pytest.mark.parametrize(
    ("given", "key", "says"),
    [
        (
            {"delay": "1ms", "jitter": "2ms"},
            "jitter",
            "a jitter of 2ms is more than the delay of 1ms: give no more than that",
        ),
        (
            {"delay": "10ms", "jitter": "5ms", "distribution": "normal"},
            "jitter",
            "a normal jitter of 5ms draws delays that are up to 18400us shorter than the delay of "
            "10ms: give a jitter of 2720us at most",
        ),
        (
            {"delay": "10ms", "jitter": "20ms", "distribution": "pareto"},
            "jitter",
            "a pareto jitter of 20ms draws delays that are up to 12",
        ),
        (
            {"distribution": "normal"},
            "distribution",
            "there is no jitter that could be normal: give a `jitter` as well",
        ),
        (
            {"delay": "1ms", "samples": "x"},
            "delay",
            "the samples say how long packets take: give either this or `samples`",
        ),
        ({"samples": "x", "jitter": "1ms"}, "jitter", "the samples say how long packets take"),
        ({"delay": "2h"}, "delay", "2h is longer than 1h"),
        ({"loss": "120%"}, "loss", "120% is more than 100 %"),
        ({"loss": "0.00000001%"}, "loss", "0.00000001% is too small to be drawn: give 0%, or "),
        ({"loss": {"enter": "1%", "leave": "120%"}}, "loss.leave", "120% is more than 100 %"),
        ({"loss": {"enter": "0%", "leave": "10%"}}, "loss.enter", "0% begins no burst"),
        (
            {"loss": {"enter": "1%", "leave": "0%"}},
            "loss.leave",
            "a burst that never ends is a cut",
        ),
        ({"duplicate": "101%"}, "duplicate", "101% is more than 100 %"),
        ({"corrupt": "101%"}, "corrupt", "101% is more than 100 %"),
        ({"reorder": "10%"}, "reorder", "without a delay no packet can overtake another"),
        (
            {"reorder": "10%", "delay": "1ms", "in_order": True},
            "reorder",
            "packets cannot overtake each other and stay in order",
        ),
        ({"rate": "0bit"}, "rate", "a link that carries nothing is no link"),
        (
            {"rate": "3bit"},
            "rate",
            "the kernel (tbf) counts whole bytes a second, so 3bit is not allowed: "
            "the nearest is 8bit",
        ),
        (
            {"rate": "1003bit"},
            "rate",
            "the kernel (tbf) counts whole bytes a second, so 1003bit is not allowed: "
            "the nearest is "
            "1kbit",
        ),
        ({"rate": "200Gbit"}, "rate", "200Gbit is more than 100Gbit: leave the rate out"),
        ({"queue": "15kB"}, "queue", "without a rate nothing waits: give a `rate` as well"),
        (
            {"rate": "1Mbit", "queue": "1kB"},
            "queue",
            "1kB cannot hold a full packet: give 1514B or more",
        ),
        ({"rate": "1Mbit", "queue": "0B"}, "queue", "nothing could wait"),
        ({"rate": "1Mbit", "queue": "5GB"}, "queue", "5GB is more than 4294967295B"),
        (
            {"delay": "9ms", "jitter": "2ms", "back": {"delay": "1ms"}},
            "back.delay",
            "a jitter of 2ms is more than the delay of 1ms",
        ),
        (
            {"delay": "9ms", "reorder": "2%", "back": {"in_order": True}},
            "back.in_order",
            "packets cannot overtake each other",
        ),
        (
            {"samples": "x", "back": {"jitter": "1ms"}},
            "back.jitter",
            "the samples say how long packets take",
        ),
        ({"back": {"queue": "15kB"}}, "back.queue", "without a rate nothing waits"),
    ],
)
def test_impossible_values_are_refused_with_the_possible_ones(
    given: dict[str, object], key: str, says: str
) -> None:
    [problem] = problems(**given)

    assert problem[0] == key
    assert problem[1].startswith(says)


@pytest.mark.parametrize(
    "given",
    [
        {"delay": "1ms", "jitter": "1ms"},
        {"delay": "10ms", "jitter": "2ms", "distribution": "normal", "in_order": True},
        {
            "samples": "x",
            "in_order": True,
            "reorder": "1%",
            "back": {"delay": "3ms", "in_order": False},
        }
        | {"in_order": False},
        {"loss": {"enter": "1%", "leave": "25%"}, "duplicate": "100%", "corrupt": "100%"},
        {"rate": "8bit"},
        {"rate": "333333bit", "queue": "1514B"},
        {"rate": "100Gbit"},
    ],
)
def test_what_can_be_is_not_refused(given: dict[str, object]) -> None:
    assert problems(**given) == []


def test_each_direction_draws_from_samples_independently() -> None:
    measured = Link(ends=("a", "b"), samples="x", loss="1%", back=Direction(delay="5ms"))
    steady = Link(
        ends=("a", "b"),
        delay="9ms",
        jitter="1ms",
        distribution="normal",
        back=Direction(samples="x"),
    )

    assert measured.direction("b").given == {"delay": Duration(5e6), "loss": measured.loss}
    assert steady.direction("b").given == {"samples": "x"}
    assert steady.direction("a").given == {
        "delay": Duration(9e6),
        "jitter": Duration(1e6),
        "distribution": "normal",
    }


def test_a_way_becomes_a_shape() -> None:
    way = Direction(
        samples="x",
        in_order=True,
        loss={"enter": "1%", "leave": "50%", "bad": "80%"},
        queue="15kB",
        rate="1Mbit",
    )

    assert Shape(**way.changes({"x": (10, 20)})) == Shape(
        delay_ns=15,
        jitter_ns=5,
        distribution="samples",
        samples_ns=(10, 20),
        in_order=True,
        loss_enter=0.01,
        loss_leave=0.5,
        loss_bad=0.8,
        rate_bps=1_000_000,
        queue_bytes=15_000,
    )


def test_a_delay_alone_ends_jitter_and_a_share_ends_bursts() -> None:
    assert Direction(delay="5ms", loss="1%").changes({}) == {
        "delay_ns": 5 * MS,
        "jitter_ns": 0,
        "distribution": "uniform",
        "samples_ns": (),
        "loss": 0.01,
        "loss_enter": 0.0,
    }


def test_a_shape_is_described_in_words() -> None:
    drawn = Shape(
        delay_ns=20_123_456,
        jitter_ns=3_456_789,
        distribution="samples",
        samples_ns=(1, 2),
        in_order=True,
        loss=0.02,
    )

    assert shape_words(drawn) == ["20100us ± 3460us (2 samples) in order", "2% lost"]
    assert shape_words(
        Shape(delay_ns=MS, reorder=0.5, loss_enter=0.1, loss_leave=0.2, loss_bad=0.5)
    ) == [
        "1ms",
        "50% lost in bursts (begin 10%, end 20%)",
        "50% reordered",
    ]
    assert shape_words(Shape()) == []
