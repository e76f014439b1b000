"""Which hosts must send single packets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streambed.net.bundles import SHORT_QUEUE_BYTES, ports_without_bundles
from streambed.plan import Plan, Shape
from tests.support.small_plans import MS, chain, pair, pairs_of_switch_and_host, star

DELAY = Shape(delay_ns=10 * MS)
LOSSY = Shape(loss=0.1)


def hosts(plan: Plan) -> list[str]:
    return [port.node for port in ports_without_bundles(plan)]


def on_link(plan: Plan, at: int, there: Shape, back: Shape = DELAY) -> Plan:
    """The plan with other shapes on one link."""
    links = list(plan.links)
    links[at] = replace(links[at], shapes=(there, back))
    return replace(plan, links=tuple(links))


@pytest.mark.parametrize(
    "shape",
    [
        LOSSY,
        Shape(loss_enter=0.1, loss_leave=0.5),
        Shape(delay_ns=MS, reorder=0.1),
        Shape(duplicate=0.1),
        Shape(corrupt=0.1),
        Shape(delay_ns=MS, jitter_ns=5),
        Shape(rate_bps=1_000_000, queue_bytes=15_000),
    ],
)
def test_a_link_that_treats_packets_one_by_one_needs_them_single(shape: Shape) -> None:
    assert hosts(pair(shape, means="netem")) == ["a", "b"]


@pytest.mark.parametrize(
    "shape", [DELAY, Shape(loss=1.0), Shape(rate_bps=1_000_000, queue_bytes=SHORT_QUEUE_BYTES)]
)
def test_a_link_that_treats_all_packets_equally_takes_bundles(shape: Shape) -> None:
    assert hosts(pair(shape, means="netem")) == []


def test_the_delay_line_takes_bundles_apart_itself_but_a_short_queue_cannot() -> None:
    assert hosts(pair(LOSSY)) == []
    assert hosts(pair(Shape(rate_bps=1_000_000, queue_bytes=15_000))) == ["a", "b"]


def test_only_hosts_are_meant_whose_packets_cross_the_link_that_way() -> None:
    plan = chain(3, DELAY, DELAY, means="netem")

    assert hosts(on_link(plan, 1, LOSSY)) == ["a"]
    assert hosts(on_link(plan, 1, DELAY, LOSSY)) == ["b"]
    assert hosts(on_link(plan, 0, LOSSY)) == ["a"]
    assert hosts(on_link(plan, 0, DELAY, LOSSY)) == ["b"]


def test_a_link_counts_that_will_lose_when_a_fault_comes() -> None:
    plan = star(DELAY, means="netem")
    changed = replace(plan.links[0], changed=((LOSSY,), ()))

    assert hosts(replace(plan, links=(changed, *plan.links[1:]))) == ["a"]


def test_hosts_whose_packets_are_delayed_elsewhere_keep_bundling() -> None:
    plan = pairs_of_switch_and_host(3)
    to_h0 = on_link(replace(plan, machine=replace(plan.machine, means="netem")), 0, DELAY, LOSSY)

    assert hosts(to_h0) == ["h1", "h2"]  # h0 itself sends nothing that crosses it.


def test_where_packets_may_take_other_ways_later_all_hosts_are_meant() -> None:
    plan = on_link(chain(3, DELAY, DELAY, means="netem"), 1, LOSSY)

    assert hosts(replace(plan, reroutes=True)) == ["a", "b"]
    assert hosts(replace(chain(3, DELAY, DELAY, means="netem"), reroutes=True)) == []
