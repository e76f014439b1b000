"""From a profile to due times: the count is exact, and the times are where the rate puts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streambed.agents.producer.rate_profile import timetable_of
from streambed.kinds.components.profile import Profile
from streambed.record.orders import ScheduleOrder


def due_s(
    rate: float,
    load_s: float,
    profile: Profile | None = None,
    *,
    arrivals: str = "constant",
    file: str = "",
) -> Any:
    order = ScheduleOrder(
        rate=rate,
        duration_ns=int(load_s * 1e9),
        arrivals=arrivals,
        profile=profile.order(file) if profile else None,
    )
    return (
        np.array(
            [
                time
                for due in timetable_of(order, shift=0.0, seed="1 poet").from_number(0)
                for time in due.times
            ]
        )
        / 1e9
    )


def per_second(times: Any, load_s: int) -> list[int]:
    return np.histogram(times, bins=load_s, range=(0, load_s))[0].tolist()


def test_a_constant_rate_has_equal_steps() -> None:
    assert due_s(4, 1.0).tolist() == [0.0, 0.25, 0.5, 0.75]


def test_a_ramp_grows_evenly_and_then_stays() -> None:
    found = due_s(0, 4, Profile(shape="ramp", to="100/s", lasts="2s"))

    assert len(found) == 300
    assert np.allclose(found[[25, 100, 200]], [2 * np.sqrt(0.25), 2.0, 3.0])


def test_a_ramp_that_is_longer_than_the_load_is_cut_off_on_its_way() -> None:
    assert len(due_s(0, 1, Profile(shape="ramp", to="100/s", lasts="2s"))) == 25


@pytest.mark.parametrize(
    ("profile", "counts"),
    [
        (Profile(shape="steps", rates=["10/s", "0/s", "30/s"], lasts="1s"), [10, 0, 30, 30]),
        (Profile(shape="steps", rates=["10/s", "20/s"]), [10, 10, 20, 20]),
        (Profile(shape="spike", to="50/s", at="1s", lasts="1s"), [20, 50, 20, 20]),
        (Profile(shape="on_off", bursts="1s", pauses="2s"), [20, 0, 0, 20]),
    ],
)
def test_each_second_has_what_its_rate_says(profile: Profile, counts: list[int]) -> None:
    assert per_second(due_s(20, 4, profile), 4) == counts


def test_a_trace_of_counts_is_replayed_faster(tmp_path: Path) -> None:
    (tmp_path / "counts").write_text("10\n0\n6\n")
    found = due_s(
        1,
        10,
        Profile(shape="trace", file="counts", column="counts", interval="60s", speed=60),
        file=str(tmp_path / "counts"),
    )

    assert per_second(found, 4) == [10, 0, 6, 0]


def test_a_trace_of_times_is_followed_to_the_end_of_the_load(tmp_path: Path) -> None:
    (tmp_path / "times").write_text("0.5\n1\n1\n9\n")

    assert due_s(
        1, 2, Profile(shape="trace", file="times", speed=2), file=str(tmp_path / "times")
    ).tolist() == [0.25, 0.5, 0.5]


@pytest.mark.parametrize(
    ("text", "says"),
    [("1\nx\n", "line 2: 'x' is not a number"), ("2\n1\n", "line 2: this time is before")],
)
def test_a_trace_that_makes_no_sense_is_refused_with_its_line(
    tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "times").write_text(text)

    with pytest.raises(SystemExit, match=says):
        due_s(1, 2, Profile(shape="trace", file="times"), file=str(tmp_path / "times"))


@pytest.mark.parametrize("arrivals", ["exponential", "uniform", "lognormal", "pareto"])
def test_drawn_gaps_keep_the_count_and_repeat_by_seed(arrivals: str) -> None:
    found = due_s(1000, 10, arrivals=arrivals)

    assert len(found) == 10_000
    assert found[0] > 0 and found[-1] < 10 and np.all(np.diff(found) >= 0)
    assert found.tolist() == due_s(1000, 10, arrivals=arrivals).tolist()


def test_exponential_gaps_spread_as_much_as_they_are_long() -> None:
    gaps = np.diff(due_s(1000, 20, arrivals="exponential"))

    assert 0.95 < np.std(gaps) / np.mean(gaps) < 1.05


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"shape": "ramp"}, "the shape ramp needs to"),
        ({"shape": "spike", "to": "5/s"}, "the shape spike needs at and lasts"),
        ({"shape": "on_off", "bursts": "1s", "pauses": "0s"}, "pauses must be above 0s"),
        ({"shape": "ramp", "to": "5/s", "bursts": "1s"}, "the shape ramp has no use for bursts"),
    ],
)
def test_a_profile_that_is_not_whole_is_refused(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Profile(**keys)
