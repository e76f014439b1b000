"""Many hosts take many open files: room is made for them, or it is said what to do."""

from __future__ import annotations

import resource

import pytest

from streambed.errors import MachineError
from streambed.net import hosts


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Limits of 1024 now and 4096 at most; what they were changed to."""
    changed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: changed.append(limits))
    return changed


def test_a_small_network_leaves_the_limit_alone(limits: list[tuple[int, int]]) -> None:
    hosts.make_room(nodes=50, links=50)

    assert limits == []


def test_a_large_network_gets_as_much_as_it_needs(limits: list[tuple[int, int]]) -> None:
    hosts.make_room(nodes=500, links=400)

    assert limits == [(3312, 4096)]


def test_more_than_the_machine_allows_is_refused_with_what_to_do(
    limits: list[tuple[int, int]],
) -> None:
    with pytest.raises(
        MachineError,
        match=r"2000 nodes take about 12510 open files, and .* 4096 at most .*limits.conf to 12510",
    ):
        hosts.make_room(nodes=2000, links=1999)
