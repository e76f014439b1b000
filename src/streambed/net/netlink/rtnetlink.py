"""Requests for interfaces, addresses, routes and queueing disciplines, as plain data."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from streambed.kinds.direction_rules import delays
from streambed.net.netlink.netlink import (
    CREATE,
    EXCLUSIVE,
    REPLACE,
    Request,
    attribute,
    nested_attributes,
    text,
    u32,
)
from streambed.plan import Hop, Port, Route, Shape

NEWLINK, NEWADDR, NEWROUTE, DELROUTE, NEWNEIGHBOUR, NEWQDISC, NEWFILTER = 16, 20, 24, 25, 28, 36, 44
NEW = CREATE | EXCLUSIVE
LOOPBACK = Port(node="", interface="lo", index=1)

ROOT = 0xFFFFFFFF
NETEM_HANDLE = 0x00010000
NETEM_CHILD = 0x00010001
INGRESS, INGRESS_HANDLE = 0xFFFFFFF1, 0xFFFF0000
ARRIVALS_FIRST_INDEX = 1_000_000
QUEUE_LIMIT_PACKETS, PACKETS_PER_S = 100_000, 1_000_000
"""netem drops packets above its limit, so the limit covers all that may be in flight: a million
packets a second, and some to spare.
"""
IN_ORDER_BYTES_PER_S = 1_000_000_000_000
"""At this rate a full packet takes 1.5 ns."""
EVEN = tuple(range(-8191, 8192, 2))
"""A table of deviations that is as uniform as netem without one."""

_IFF_UP = 1
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_LINKINFO, _IFLA_NET_NS_FD, _IFLA_GSO_MAX_SEGS = 1, 3, 18, 28, 40
_IFLA_NUM_TX_QUEUES, _IFLA_NUM_RX_QUEUES = 31, 32
_ONE_QUEUE = attribute(_IFLA_NUM_TX_QUEUES, u32(1)) + attribute(_IFLA_NUM_RX_QUEUES, u32(1))
_IFLA_INFO_KIND, _IFLA_INFO_DATA, _VETH_INFO_PEER = 1, 2, 1
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_NDA_DST, _NDA_LLADDR, _PERMANENT = 1, 2, 0x80
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_PREFSRC, _RTA_MULTIPATH = 1, 4, 5, 7, 9
_TABLE_MAIN, _PROTOCOL_STATIC, _UNICAST, _ONLINK = 254, 4, 1, 4
_SCOPE_UNIVERSE, _SCOPE_LINK, _SCOPE_NOWHERE = 0, 253, 255
_TCA_KIND, _TCA_OPTIONS = 1, 2
_TBF_PARMS, _TBF_RATE64, _TBF_BURST = 1, 4, 6
_NETEM_DELAY_DIST, _NETEM_REORDER, _NETEM_CORRUPT, _NETEM_LOSS, _NETEM_RATE, _NETEM_RATE64 = (
    2,
    3,
    4,
    5,
    6,
    8,
)
_NETEM_LATENCY64, _NETEM_JITTER64, _NETEM_SEED, _NETEM_LOSS_GILBERT_ELLIOTT = 10, 11, 14, 2
_MATCHALL_ACT, _ACT_KIND, _ACT_OPTIONS, _MIRRED_PARMS = 2, 1, 2, 2
_STOLEN, _TO_SENDING_SIDE, _EVERY_PROTOCOL = 4, 1, 0x0003
_U32_MAX = 0xFFFFFFFF


def _interface(index: int, *, up: bool) -> bytes:
    return struct.pack("=BBHiII", 0, 0, 0, index, _IFF_UP if up else 0, _IFF_UP if up else 0)


class End(NamedTuple):
    """One end of a pair of interfaces: its port, the address of its node, and the namespace that it
    will be in, as a descriptor.
    """

    port: Port
    address: str
    namespace: int


def veth(near: End, far: End) -> Request:
    """A pair of interfaces, still down, each in its namespace; the caller may be in another one.

    One queue each: by default there are as many as processors, each with its folders in sysfs, and
    without XDP they are useless.
    """
    kind = (
        attribute(_IFLA_INFO_KIND, text("veth")),
        nested_attributes(_IFLA_INFO_DATA, attribute(_VETH_INFO_PEER, _end(far))),
    )
    source = f"{near.port.node}/{near.port.interface}"
    target = f"{far.port.node}/{far.port.interface}"
    asks = f"make the link {source} to {target}"
    return Request(
        asks=asks,
        kind=NEWLINK,
        flags=NEW,
        body=_end(near) + nested_attributes(_IFLA_LINKINFO, *kind),
    )


def _end(end: End) -> bytes:
    """The hardware address is derived from the node's address, so that neighbours know it without
    asking.
    """
    name, place = (
        attribute(_IFLA_IFNAME, text(end.port.interface)),
        attribute(_IFLA_NET_NS_FD, u32(end.namespace)),
    )
    hardware = attribute(_IFLA_ADDRESS, _hardware_address(end.address))
    return _interface(end.port.index, up=False) + name + place + hardware + _ONE_QUEUE


def up(port: Port) -> Request:
    """Switch an interface on."""
    return Request(
        asks=f"switch on {port.node}/{port.interface}",
        kind=NEWLINK,
        flags=0,
        body=_interface(port.index, up=True),
    )


def address(port: Port, of: str) -> Request:
    """Give an interface the one address of its node; links have no addresses themselves."""
    packed = socket.inet_aton(of)
    body = struct.pack("=BBBBI", socket.AF_INET, 32, 0, _SCOPE_UNIVERSE, port.index)
    body += attribute(_IFA_LOCAL, packed) + attribute(_IFA_ADDRESS, packed)
    return Request(
        asks=f"give {port.node}/{port.interface} the address {of}",
        kind=NEWADDR,
        flags=NEW,
        body=body,
    )


def neighbour(port: Port, of: str) -> Request:
    """A permanent neighbour entry for the node with the address `of`: a request to it might be
    lost, or meet a cut.

    The kernel would tell programs "no route to host", and be deaf for a second after a cut is
    mended.
    """
    body = struct.pack("=BBHiHBB", socket.AF_INET, 0, 0, port.index, _PERMANENT, 0, 0)
    body += attribute(_NDA_DST, socket.inet_aton(of)) + attribute(
        _NDA_LLADDR, _hardware_address(of)
    )
    return Request(
        asks=f"tell {port.node}/{port.interface} of its neighbour {of}",
        kind=NEWNEIGHBOUR,
        flags=NEW,
        body=body,
    )


def _hardware_address(of: str) -> bytes:
    locally_administered = 0x02
    return bytes([locally_administered, 0]) + socket.inet_aton(of)


def disable_bundling(port: Port) -> Request:
    """Let TCP hand single segments to an interface. To switch its offloads off is not enough: they
    come after the disciplines.
    """
    asks = f"send single segments through {port.node}/{port.interface}"
    return Request(
        asks=asks,
        kind=NEWLINK,
        flags=0,
        body=_interface(port.index, up=False) + attribute(_IFLA_GSO_MAX_SEGS, u32(1)),
    )


def route(
    wanted: Route, ports: Mapping[str, Port], source: str, *, change: bool = False
) -> Request:
    """A route for packets that `source` sends or passes on, by one of `ports` or spread over
    several.

    A neighbour is "onlink": no address says that it is near, the plan does. `change` puts it in the
    place of one that is there.
    """
    scope, flags = (_SCOPE_UNIVERSE, _ONLINK) if wanted.via else (_SCOPE_LINK, 0)
    body = _route_to(wanted, scope, 0 if wanted.also else flags) + attribute(
        _RTA_PREFSRC, socket.inet_aton(source)
    )
    if wanted.also:
        body += attribute(
            _RTA_MULTIPATH,
            b"".join(_next_hop(hop, ports[hop.interface], flags) for hop in wanted.hops),
        )
    else:
        body += _gateway(wanted.via) + attribute(_RTA_OIF, u32(ports[wanted.interface].index))
    directions = " and ".join(
        f"{ports[hop.interface].node}/{hop.interface} {hop.via}".rstrip() for hop in wanted.hops
    )
    return Request(
        asks=f"add the route to {wanted.destination} by {directions}",
        kind=NEWROUTE,
        flags=CREATE | REPLACE if change else NEW,
        body=body,
    )


def no_route(unwanted: Route, node: str) -> Request:
    """Remove a route."""
    asks = f"take away the route to {unwanted.destination} from {node}"
    return Request(asks=asks, kind=DELROUTE, flags=0, body=_route_to(unwanted, _SCOPE_NOWHERE, 0))


def _route_to(route: Route, scope: int, flags: int) -> bytes:
    destination, _, length = route.destination.partition("/")
    bits = 0 if destination == "default" else int(length or 32)
    head = struct.pack(
        "=BBBBBBBBI",
        socket.AF_INET,
        bits,
        0,
        0,
        _TABLE_MAIN,
        _PROTOCOL_STATIC,
        scope,
        _UNICAST,
        flags,
    )
    return head + (attribute(_RTA_DST, socket.inet_aton(destination)) if bits else b"")


def _gateway(via: str) -> bytes:
    return attribute(_RTA_GATEWAY, socket.inet_aton(via)) if via else b""


def _next_hop(hop: Hop, port: Port, flags: int) -> bytes:
    """One of several, all with the same weight."""
    gateway, no_extra_weight = _gateway(hop.via), 0
    return struct.pack("=HBBi", 8 + len(gateway), flags, no_extra_weight, port.index) + gateway


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """The numbers of a token bucket (tbf)."""

    rate_bytes: int
    burst_bytes: int
    limit_bytes: int


def tbf(port: Port, bucket: Bucket, parent: int = ROOT, *, change: bool = False) -> Request:
    """Hold what leaves an interface to a rate; `change` alters the bucket that is there, or makes
    it.
    """
    ethernet = 1  # Otherwise the kernel wants a table of transmission times.
    rate = struct.pack("=BBHhHI", 0, ethernet, 0, 0, 0, min(bucket.rate_bytes, _U32_MAX))
    no_peak, unused_burst_ticks, unused_mtu = bytes(12), 0, 0
    parameters = (
        rate + no_peak + struct.pack("=III", bucket.limit_bytes, unused_burst_ticks, unused_mtu)
    )
    options = attribute(_TBF_PARMS, parameters) + attribute(_TBF_BURST, u32(bucket.burst_bytes))
    if bucket.rate_bytes > _U32_MAX:
        options += attribute(_TBF_RATE64, struct.pack("=Q", bucket.rate_bytes))
    asks = f"limit {port.node}/{port.interface} to {bucket.rate_bytes * 8} bit/s (tbf)"
    body = _discipline(port, "tbf", parent, 0) + attribute(_TCA_OPTIONS, options)
    return Request(asks=asks, kind=NEWQDISC, flags=CREATE | REPLACE if change else NEW, body=body)


def netem(
    port: Port, shape: Shape, *, seed: int = 0, change: bool = False, even: bool = False
) -> Request:
    """Apply a shape to what leaves an interface; `change` alters an existing discipline.

    On a change netem keeps the options that are not sent, so all are sent but the table: `even`
    replaces an earlier table, which cannot be removed.
    """
    drawn = delays(shape)
    held_packets = (
        QUEUE_LIMIT_PACKETS + (shape.delay_ns + drawn.most_ns) * PACKETS_PER_S // 1_000_000_000
    )
    options = struct.pack(
        "=IIIIII",
        0,
        held_packets,
        _chance(shape.loss),
        1 if shape.reorder else 0,
        _chance(shape.duplicate),
        0,
    )
    options += attribute(_NETEM_LATENCY64, struct.pack("=q", shape.delay_ns))
    options += attribute(_NETEM_JITTER64, struct.pack("=q", drawn.width_ns))
    if table := drawn.table or (EVEN if even else ()):
        options += attribute(_NETEM_DELAY_DIST, struct.pack(f"={len(table)}h", *table))
    options += attribute(_NETEM_REORDER, struct.pack("=II", _chance(shape.reorder), 0))
    options += attribute(_NETEM_CORRUPT, struct.pack("=II", _chance(shape.corrupt), 0))
    if shape.loss_enter:
        chances = shape.loss_enter, shape.loss_leave, 1 - shape.loss_bad, shape.loss_good
        options += nested_attributes(
            _NETEM_LOSS,
            attribute(_NETEM_LOSS_GILBERT_ELLIOTT, struct.pack("=IIII", *map(_chance, chances))),
        )
    options += _pace(IN_ORDER_BYTES_PER_S if shape.in_order else 0)
    options += attribute(_NETEM_SEED, struct.pack("=Q", seed))  # Kernels before 6.6 ignore it.
    asks = f"delay or drop what leaves {port.node}/{port.interface} (netem)"
    body = _discipline(port, "netem", ROOT, NETEM_HANDLE) + attribute(_TCA_OPTIONS, options)
    return Request(asks=asks, kind=NEWQDISC, flags=0 if change else NEW, body=body)


def arrivals(port: Port) -> Port:
    """The interface (ifb) through which the packets pass that arrive at a port."""
    return Port(
        node=port.node, interface=f"ifb{port.index}", index=ARRIVALS_FIRST_INDEX + port.index
    )


def detour(port: Port) -> list[Request]:
    """Make the interface of `arrivals` and redirect arriving packets to it, so that disciplines
    can shape them like packets that leave an interface.
    """
    by = arrivals(port)
    kind = nested_attributes(_IFLA_LINKINFO, attribute(_IFLA_INFO_KIND, text("ifb")))
    device = (
        _interface(by.index, up=True)
        + attribute(_IFLA_IFNAME, text(by.interface))
        + _ONE_QUEUE
        + kind
    )
    action = attribute(
        _MIRRED_PARMS, struct.pack("=IIiiiiI", 0, 0, _STOLEN, 0, 0, _TO_SENDING_SIDE, by.index)
    )
    actions = nested_attributes(
        1, attribute(_ACT_KIND, text("mirred")), nested_attributes(_ACT_OPTIONS, action)
    )
    first_of_every_protocol = 1 << 16 | socket.htons(_EVERY_PROTOCOL)
    matchall = _discipline(port, "matchall", INGRESS_HANDLE, 0, first_of_every_protocol)
    rule = matchall + nested_attributes(_TCA_OPTIONS, nested_attributes(_MATCHALL_ACT, actions))
    direction = f"what arrives at {port.node}/{port.interface}"
    return [
        Request(
            asks=f"make an interface for {direction} (ifb)", kind=NEWLINK, flags=NEW, body=device
        ),
        Request(
            asks=f"look at {direction} (ingress)",
            kind=NEWQDISC,
            flags=NEW,
            body=_discipline(port, "ingress", INGRESS, INGRESS_HANDLE),
        ),
        Request(asks=f"redirect {direction} (mirred)", kind=NEWFILTER, flags=NEW, body=rule),
    ]


def _chance(share: float) -> int:
    return round(min(1.0, share) * _U32_MAX)


def _pace(rate_bytes: int) -> bytes:
    """The rate option of netem; zero means none. With a rate, netem releases no packet before an
    earlier one.
    """
    low = attribute(_NETEM_RATE, struct.pack("=IiIi", min(rate_bytes, _U32_MAX), 0, 0, 0))
    return (
        attribute(_NETEM_RATE64, struct.pack("=Q", rate_bytes)) if rate_bytes > _U32_MAX else b""
    ) + low


def _discipline(port: Port, kind: str, parent: int, handle: int, match: int = 0) -> bytes:
    return struct.pack("=BBHiIII", 0, 0, 0, port.index, handle, parent, match) + attribute(
        _TCA_KIND, text(kind)
    )
