"""A measurement is taken again if it fails while the machine is held up, and only then."""

from __future__ import annotations

from types import SimpleNamespace

import held_up
import pytest
from held_up import Pulse, again_if_held_up


@pytest.fixture(params=[True, False], ids=["held up", "calm"])
def is_held_up(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(Pulse, "held_up", request.param)
    monkeypatch.setattr(held_up, "wait_for_calm", lambda: None)
    return bool(request.param)


def test_what_fails_is_tried_again_only_while_the_machine_is_held_up(is_held_up: bool) -> None:
    tried = []

    def fail() -> None:
        tried.append("once")
        raise AssertionError

    with pytest.raises(AssertionError):
        again_if_held_up(fail)
    assert len(tried) == (held_up.ATTEMPTS if is_held_up else 1)


def test_what_holds_is_measured_once(is_held_up: bool) -> None:
    tried: list[str] = []

    assert again_if_held_up(lambda: tried.append("once")) == []

    assert tried == ["once"]


def test_what_failed_before_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pulse, "held_up", True)
    monkeypatch.setattr(held_up, "wait_for_calm", lambda: None)
    results = iter([AssertionError("7 < 9\nand more"), None])

    def fail_once() -> None:
        if error := next(results):
            raise error

    (told,) = again_if_held_up(fail_once)

    assert told.startswith("woken ") and told.endswith(" ms late: 7 < 9")


def test_whoever_is_woken_late_was_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, held_up.NAP_S, held_up.NAP_S * 2 + held_up.LATE_S * 1.5])
    monkeypatch.setattr(held_up, "time", SimpleNamespace(monotonic=lambda: next(times)))
    waits = iter([False, False, True])
    pulse = Pulse()
    monkeypatch.setattr(pulse._over, "wait", lambda _: next(waits))

    pulse.run()

    assert pulse.latest_s == pytest.approx(held_up.LATE_S * 1.5) and pulse.held_up
