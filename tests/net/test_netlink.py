"""Messages to the kernel are as long as they say, and name what they ask."""

from __future__ import annotations

import errno
import struct

import pytest

from streambed.net import shaping
from streambed.net.netlink import netlink, nfnetlink, rtnetlink
from streambed.net.netlink.netlink import Request
from streambed.net.netlink.nfnetlink import QueueRule
from streambed.net.netlink.rtnetlink import End
from streambed.plan import Hop, Port, Route, Shape

NEAR, FAR = Port(node="a", interface="eth0", index=10), Port(node="b", interface="eth3", index=13)
PORTS = {"eth0": NEAR, "eth1": Port(node="a", interface="eth1", index=11)}
SPREAD = Route(
    destination="10.0.1.0/24",
    interface="eth0",
    via="10.255.0.1",
    also=(Hop(interface="eth1", via="10.255.0.2"),),
)
RULES = [
    QueueRule(node="s", hook="postrouting", interface="eth1", number=7),
    QueueRule(node="s", hook="prerouting", interface="eth1", number=8),
]
REQUESTS = [
    rtnetlink.veth(
        End(port=NEAR, address="10.0.0.1", namespace=5),
        End(port=FAR, address="10.0.0.2", namespace=6),
    ),
    rtnetlink.up(NEAR),
    rtnetlink.address(NEAR, "10.0.0.1"),
    rtnetlink.neighbour(NEAR, "10.0.0.2"),
    rtnetlink.disable_bundling(NEAR),
    rtnetlink.route(
        Route(destination="default", interface="eth0", via="10.255.0.1"), PORTS, "10.0.0.1"
    ),
    rtnetlink.route(SPREAD, PORTS, "10.0.0.1", change=True),
    rtnetlink.no_route(SPREAD, "a"),
    rtnetlink.tbf(NEAR, shaping.bucket(40_000_000_000)),
    rtnetlink.netem(NEAR, Shape(delay_ns=1)),
    rtnetlink.netem(
        NEAR,
        Shape(
            delay_ns=20,
            jitter_ns=1,
            distribution="pareto",
            in_order=True,
            loss_enter=0.1,
            loss_leave=0.2,
        ),
    ),
    *rtnetlink.detour(NEAR),
    *nfnetlink.requests(RULES, "nft queue"),
    *nfnetlink.requests(RULES, "xt NFQUEUE"),
    *nfnetlink.wall("wall1", ["10.0.0.1", "10.0.0.2"]),
    *nfnetlink.no_wall("wall1"),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request_: request_.asks)
def test_a_message_is_as_long_as_its_header_says(request_: Request) -> None:
    encoded = request_.encoded(3)

    assert struct.unpack_from("=I", encoded) == (len(encoded),)
    assert len(encoded) % 4 == 0


def test_an_attribute_is_padded_but_its_length_is_not() -> None:
    assert netlink.attribute(3, b"lo\0") == struct.pack("=HH", 7, 3) + b"lo\0\0"


def test_a_netem_message_is_the_one_that_tc_sends_with_exact_times_added() -> None:
    body = rtnetlink.netem(NEAR, Shape(delay_ns=10_000_000, jitter_ns=3_000_000, loss=0.1)).body

    assert (
        body[:32]
        == struct.pack("=BBHiIII", 0, 0, 0, 10, 0x10000, 0xFFFFFFFF, 0)
        + struct.pack("=HH", 10, 1)
        + b"netem\0\0\0"
    )
    assert body[36:60] == struct.pack("=IIIIII", 0, 113_000, 0x1999999A, 0, 0, 0)
    assert (
        struct.pack("=HHq", 12, 10, 10_000_000) in body
        and struct.pack("=HHq", 12, 11, 3_000_000) in body
    )


def test_netem_gets_probabilities_in_32_bits_and_bursts_by_their_survivors() -> None:
    shape = Shape(
        delay_ns=1,
        reorder=0.5,
        duplicate=1.0,
        corrupt=0.25,
        loss_enter=0.25,
        loss_leave=0.5,
        loss_bad=1.0,
        loss_good=0.0,
    )
    body = rtnetlink.netem(NEAR, shape).body

    assert body[48:56] == struct.pack(
        "=II", 1, 0xFFFFFFFF
    )  # Each packet may be reordered; duplicate.
    assert struct.pack("=HHII", 12, 3, 0x80000000, 0) in body
    assert struct.pack("=HHII", 12, 4, 0x40000000, 0) in body
    assert struct.pack("=HHIIII", 20, 2, 0x40000000, 0x80000000, 0, 0) in body


def test_netem_may_hold_all_that_is_on_its_way() -> None:
    assert struct.unpack_from(
        "=I", rtnetlink.netem(NEAR, Shape(delay_ns=10_000_000_000)).body, 40
    ) == (10_100_000,)


def test_a_route_to_a_neighbour_needs_no_gateway() -> None:
    near = rtnetlink.route(Route(destination="10.0.0.3/32", interface="eth0"), PORTS, "10.255.0.1")
    far = rtnetlink.route(
        Route(destination="10.0.0.3/32", interface="eth0", via="10.255.0.2"), PORTS, "10.255.0.1"
    )

    assert (near.body[6], near.body[8]) == (253, 0)  # Scope link.
    assert (far.body[6], far.body[8]) == (0, 4)  # Scope universe, onlink.


def test_a_route_by_several_ways_names_each_with_its_neighbour() -> None:
    body = rtnetlink.route(SPREAD, PORTS, "10.0.0.1").body

    ways = [
        struct.pack("=HBBiHH4B", 16, 4, 0, index, 8, 5, 10, 255, 0, near)
        for index, near in ((10, 1), (11, 2))
    ]
    assert struct.pack("=HH", 36, 9) + b"".join(ways) in body


def test_many_messages_go_in_few_pieces_but_a_transaction_in_one() -> None:
    many = [rtnetlink.up(NEAR)] * 5_000

    assert [len(part) <= 60_000 for part in netlink._parts(many, whole=False)] == [True] * 3
    assert len(list(netlink._parts(many, whole=True))) == 1


def test_a_transaction_begins_and_ends_and_makes_each_chain_once() -> None:
    asked = [request.asks for request in nfnetlink.requests([*RULES, *RULES], "nft queue")]

    assert asked[0] == asked[-1] == "change packet rules"
    assert (
        asked.count("make the chain postrouting") == asked.count("make the chain prerouting") == 1
    )


def test_a_refusal_says_what_was_asked() -> None:
    refusal = netlink.Refusal(rtnetlink.tbf(NEAR, shaping.bucket(8_000)).asks, errno.ENOENT)

    assert (
        str(refusal)
        == "the kernel refused to limit a/eth0 to 8000 bit/s (tbf): No such file or directory"
    )
