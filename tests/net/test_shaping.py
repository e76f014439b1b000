"""Which discipline or queue each direction of a link gets."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from streambed.errors import MachineError
from streambed.net import shaping
from streambed.net.netlink import rtnetlink
from streambed.plan import Plan, Shape
from tests.support.small_plans import MS, pair, star

DELAY = Shape(delay_ns=10 * MS)
NARROW = Shape(delay_ns=MS, rate_bps=10_000_000)


def made(plan: Plan) -> list[list[str]]:
    """What is asked of the kernel for each direction, without the port."""
    return [
        [
            request.asks.split("(")[1].rstrip(")")
            for _, request in shaping.disciplines(way, plan.seed)
        ]
        for way in shaping.directions(plan)
    ]


def test_a_switch_queues_what_it_sends_and_what_hosts_send_it() -> None:
    from_host, from_switch, *_ = [way.rule for way in shaping.directions(star(DELAY))]

    assert (from_host.node, from_host.hook, from_host.interface) == (
        "switch1",
        "prerouting",
        "eth0",
    )
    assert (from_switch.node, from_switch.hook, from_switch.interface) == (
        "switch1",
        "postrouting",
        "eth0",
    )


def test_a_host_linked_directly_queues_what_arrives() -> None:
    rules = [way.rule for way in shaping.directions(pair(DELAY))]

    assert [(rule.node, rule.hook) for rule in rules] == [("b", "prerouting"), ("a", "prerouting")]


def test_every_direction_has_its_own_queue() -> None:
    assert [way.number for way in shaping.directions(star(DELAY))] == [1, 2, 3, 4]


def test_the_delay_line_leaves_only_the_rate_to_the_kernel() -> None:
    assert made(pair(NARROW)) == [["tbf"], ["tbf"]]


def test_netem_is_in_the_receiver_for_a_host_and_over_the_rate_for_a_switch() -> None:
    plan = star(NARROW, means="netem")
    from_host, from_switch, *_ = shaping.directions(plan)

    assert made(plan)[:2] == [["ifb", "ingress", "mirred", "netem", "tbf"], ["netem", "tbf"]]
    assert [node for node, _ in shaping.disciplines(from_host, 7)] == ["switch1"] * 4 + ["a"]
    assert [node for node, _ in shaping.disciplines(from_switch, 7)] == ["switch1"] * 2
    assert (from_host.bucket_parent, from_switch.bucket_parent) == (
        rtnetlink.ROOT,
        rtnetlink.NETEM_CHILD,
    )


def test_netem_is_in_every_sender_where_what_arrives_cannot_be_redirected() -> None:
    assert made(pair(NARROW, means="netem", arrivals=False)) == [["netem", "tbf"], ["netem", "tbf"]]


def test_a_link_that_is_not_emulated_gets_nothing_but_its_rate() -> None:
    plan = pair(Shape(rate_bps=10_000_000), means="netem")
    plan = replace(plan, links=(replace(plan.links[0], emulated=False),))

    assert made(plan) == [["tbf"], ["tbf"]]
    assert shaping.delay_line_queues(shaping.directions(plan), {"a": 3, "b": 4}) == []


def test_a_bucket_holds_four_milliseconds_and_waits_a_tenth_of_a_second() -> None:
    bucket = shaping.bucket(100_000_000)

    assert (bucket.rate_bytes, bucket.burst_bytes, bucket.limit_bytes) == (
        12_500_000,
        50_000,
        1_250_000,
    )


def test_a_small_bucket_still_takes_whole_packets() -> None:
    bucket = shaping.bucket(64_000)

    assert (bucket.burst_bytes, bucket.limit_bytes) == (3_200, 45_000)


def test_a_declared_queue_is_what_waits() -> None:
    assert shaping.bucket(100_000_000, 15_000).limit_bytes == 15_000


def test_a_queue_tells_the_delay_line_its_shape_and_namespace() -> None:
    ways = shaping.directions(pair(Shape(delay_ns=MS, jitter_ns=5, loss=0.1)))

    first, _ = shaping.delay_line_queues(ways, {"a": 3, "b": 4})

    assert {key: first[key] for key in ("number", "delay_ns", "jitter_ns", "table", "loss")} == {
        "number": 1,
        "delay_ns": MS,
        "jitter_ns": 5,
        "table": [],
        "loss": 0.1,
    }
    assert (first["namespace"], first["sender_namespace"], first["sender_index"]) == (4, 3, 10)


def asked(means: str, before: Shape, after: Shape) -> list[str]:
    way, _ = shaping.directions(pair(before, means=means))
    return [request.asks for _, request in shaping.changes(way, before, after, seed=7)]


def test_a_change_of_rate_changes_the_bucket_and_none_means_as_much_as_can_be() -> None:
    fast = Shape(delay_ns=MS, rate_bps=10_000_000)

    assert asked("delay_line", fast, replace(fast, rate_bps=1_000)) == [
        "limit a/eth0 to 1000 bit/s (tbf)"
    ]
    assert asked("delay_line", fast, replace(fast, rate_bps=0)) == [
        f"limit a/eth0 to {shaping.UNLIMITED_BPS} bit/s (tbf)"
    ]


def test_a_bucket_that_is_made_slower_still_takes_what_waits_in_it() -> None:
    for rate_bps, largest in ((10_000_000, 5_000), (1_000_000_000, shaping.LARGEST_PACKET_BYTES)):
        fast = Shape(rate_bps=rate_bps)
        way, _ = shaping.directions(pair(fast))

        ((_, request),) = shaping.changes(way, fast, replace(fast, rate_bps=1_000_000), seed=7)
        assert request.body.endswith(struct.pack("=HHI", 8, 6, largest))


def test_a_change_of_the_queue_alone_changes_the_bucket() -> None:
    fast = Shape(rate_bps=10_000_000)

    assert asked("delay_line", fast, replace(fast, queue_bytes=15_000)) == [
        "limit a/eth0 to 10000000 bit/s (tbf)"
    ]


def test_a_queue_of_the_delay_line_draws_from_the_table_that_netem_gets() -> None:
    shape = Shape(
        delay_ns=100 * MS,
        jitter_ns=MS,
        distribution="normal",
        in_order=True,
        loss_enter=0.01,
        loss_leave=0.25,
    )
    way, _ = shaping.directions(pair(shape))
    told = shaping.queue(way, shape)

    table = struct.pack("=HH4096h", 4 + 2 * 4096, 2, *told["table"])
    assert table in rtnetlink.netem(way.sender, shape).body
    assert struct.pack("=HHq", 12, 11, told["jitter_ns"]) in rtnetlink.netem(way.sender, shape).body
    assert (told["in_order"], told["enter"], told["leave"], told["bad"], told["good"]) == (
        True,
        0.01,
        0.25,
        1.0,
        0.0,
    )


def test_netem_is_made_to_forget_a_table_when_delays_spread_evenly_again() -> None:
    normal, even = (
        Shape(delay_ns=100 * MS, jitter_ns=MS, distribution=kind) for kind in ("normal", "uniform")
    )
    way, _ = shaping.directions(pair(normal, means="netem"))
    tables = struct.pack("=HH", 4 + 2 * 8192, 2)

    assert tables in shaping.changes(way, normal, even, seed=7)[0][1].body
    assert tables not in shaping.changes(way, even, even, seed=7)[0][1].body


def test_a_change_of_delay_concerns_the_kernel_only_where_it_has_netem() -> None:
    assert asked("delay_line", DELAY, Shape(delay_ns=MS)) == []
    assert asked("netem", DELAY, Shape(delay_ns=MS)) == [
        "delay or drop what leaves b/ifb10 (netem)"
    ]


def test_a_fault_changes_the_delay_where_it_is_and_the_rate_where_that_is() -> None:
    way, _ = shaping.directions(pair(NARROW, means="netem"))

    assert [
        node
        for node, _ in shaping.changes(
            way, NARROW, replace(NARROW, loss=0.1, rate_bps=1_000), seed=7
        )
    ] == ["b", "a"]


def test_a_delay_is_refused_where_the_machine_has_no_means() -> None:
    with pytest.raises(
        MachineError,
        match="link a-b has a delay, a loss or a cut, "
        "but this kernel has neither netem nor NFQUEUE",
    ):
        shaping.directions(pair(DELAY, means="none"))


def test_a_rate_is_refused_where_the_machine_has_no_token_bucket() -> None:
    with pytest.raises(MachineError, match="link a-b has a rate"):
        shaping.directions(pair(Shape(rate_bps=1_000), shaping=False))


def test_netem_draws_differently_on_each_direction_of_a_plan() -> None:
    ways = shaping.directions(star(DELAY, means="netem"))

    assert len({shaping.netem_seed(way, 7) for way in ways}) == len(ways)


def test_a_jitter_that_netem_would_cut_short_is_refused() -> None:
    with pytest.raises(MachineError, match=r"further than the 2\.147 s that netem can do"):
        shaping.directions(pair(Shape(delay_ns=3000 * MS, jitter_ns=2500 * MS), means="netem"))
