"""Where the kernel has netem, it is found and used, by root and by an ordinary user; the same
kernel has cgroup v2 alone.
"""

from __future__ import annotations

import pytest

from streambed.plan import Shape
from tests.support.kernel.netem_machine import NetemMachine
from tests.support.small_plans import MS, pair, star

pytestmark = pytest.mark.kernel

DELAY = Shape(delay_ns=10 * MS)
NOBODY = 65534


def test_netem_is_found_without_packet_rules(netem: NetemMachine) -> None:
    assert netem.examined["means"] == "netem" and netem.examined["arrivals"]
    assert (
        netem.examined["namespaces"]
        and netem.examined["shaping"]
        and not netem.examined["filtering"]
    )


def test_an_ordinary_user_gets_netem_too(netem: NetemMachine) -> None:
    assert 19 < netem.measure(star(DELAY), "round_trips", user=NOBODY)["least_ms"] < 34


def test_hosts_have_names_where_netem_shapes_their_links(netem: NetemMachine) -> None:
    measured = netem.measure(star(DELAY), "surroundings")

    assert (measured["hostname"], measured["names"], measured["interfaces"]) == (
        "a",
        ["localhost", "a", "switch1", "b"],
        ["eth0", "lo"],
    )


def test_a_machine_without_ifb_delays_in_the_sender(netem: NetemMachine) -> None:
    plan = pair(Shape(delay_ns=10 * MS, rate_bps=10_000_000), arrivals=False)

    assert 19 < netem.measure(plan, "round_trips")["least_ms"] < 34
    assert netem.measure(plan, "cuts")["from a"] == {"asked": False, "answered": False}


def test_cgroup_v2_caps_at_the_top_and_in_a_delegated_group_that_nobody_else_lives_in(
    netem: NetemMachine,
) -> None:
    measured = netem.measure(star(DELAY), "capped_by_v2")

    capped = {
        "status": -9,
        "kills": 1,
        "cpu.max": "50000 100000",
        "cpu.weight.nice": "5",
        "memory.max": str(32 << 20),
    }
    assert measured["top"] == {
        "folders": dict.fromkeys(("cpu", "memory"), "/sys/fs/cgroup"),
        **capped,
    }
    assert measured["scope"] == {
        "folders": dict.fromkeys(("cpu", "memory"), "/sys/fs/cgroup/scope"),
        **capped,
    }
    assert measured["left"] == {"folders": [], "own": "0::/scope"}
