"""Rules that queue packets for the delay line or drop them, without an iptables or nft program."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from streambed.net.netlink import netlink
from streambed.net.netlink.netlink import (
    APPEND,
    CREATE,
    Request,
    attribute,
    nested_attributes,
    text,
)

Hook = Literal["prerouting", "postrouting"]
Means = Literal["nft queue", "xt NFQUEUE"]

TABLE = "streambed"
_BATCH_BEGIN, _BATCH_END, _NEWTABLE, _DELTABLE, _NEWCHAIN, _NEWRULE = (
    0x10,
    0x11,
    0xA00,
    0xA02,
    0xA03,
    0xA06,
)
_SUBSYSTEM_NFTABLES = 10
_HOOK_NUMBERS = {"prerouting": 0, "input": 1, "postrouting": 4}
_META_KEYS: dict[Hook, int] = {
    "prerouting": 6,
    "postrouting": 7,
}  # By the name of the incoming or the outgoing interface.
_PRIORITY_MANGLE = -150
_DROP, _ACCEPT = 0, 1
_VERDICT_REGISTER, _REGISTER = 0, 1
_EQUAL = 0
_NETWORK_HEADER, _SOURCE_OFFSET, _ADDRESS_BYTES = 1, 12, 4
_NAME_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class QueueRule:
    """Packets that pass `hook` by `interface` of `node` wait in queue `number`."""

    node: str
    hook: Hook
    interface: str
    number: int


def add_rules(rules: list[QueueRule], means: Means = "nft queue") -> Means:
    """Put the rules into the network that the calling thread is in; by which means this kernel took
    them.

    There is no bypass: when a queue has no reader, its link is dead. Where the kernel lacks nft's
    own `queue` (ENOENT), the older NFQUEUE target does the same.
    """
    try:
        netlink.send(requests(rules, means), netlink.NETFILTER)
    except netlink.Refusal as refusal:
        if means == "xt NFQUEUE" or refusal.number not in (errno.ENOENT, errno.EOPNOTSUPP):
            raise
        return add_rules(rules, "xt NFQUEUE")
    return means


def requests(rules: list[QueueRule], means: Means) -> list[Request]:
    """One transaction: the table, a chain for each hook, the rules."""
    hooks = sorted({rule.hook for rule in rules})
    return _transaction(
        _table(TABLE),
        *(_chain(TABLE, hook) for hook in hooks),
        *(_queue_rule(rule, means) for rule in rules),
    )


def wall(name: str, sources: Iterable[str]) -> list[Request]:
    """One transaction that makes a table of this name; it drops packets from these addresses to
    this host.
    """
    return _transaction(
        _table(name), _chain(name, "input"), *(_drop_rule(name, source) for source in sources)
    )


def no_wall(name: str) -> list[Request]:
    """One transaction that removes the table of this name and all its rules."""
    return _transaction(
        _request(f"take away the packet rules {name}", _DELTABLE, 0, attribute(1, text(name)))
    )


def _transaction(*requests: Request) -> list[Request]:
    begin, end = (
        _request("change packet rules", kind, 0, family=0, resource=_SUBSYSTEM_NFTABLES)
        for kind in (_BATCH_BEGIN, _BATCH_END)
    )
    return [begin, *requests, end]


def _table(name: str) -> Request:
    return _request(
        "make a table of packet rules",
        _NEWTABLE,
        CREATE,
        attribute(1, text(name)),
        attribute(2, _be32(0)),
    )


def _chain(table: str, hook: str) -> Request:
    place = nested_attributes(
        4, attribute(1, _be32(_HOOK_NUMBERS[hook])), attribute(2, _be32(_PRIORITY_MANGLE))
    )
    names = (
        attribute(1, text(table)),
        attribute(3, text(hook)),
        place,
        attribute(5, _be32(_ACCEPT)),
        attribute(7, text("filter")),
    )
    return _request(f"make the chain {hook}", _NEWCHAIN, CREATE, *names)


def _rule(asks: str, table: str, chain: str, *expressions: bytes) -> Request:
    return _request(
        asks,
        _NEWRULE,
        CREATE | APPEND,
        attribute(1, text(table)),
        attribute(2, text(chain)),
        nested_attributes(4, *expressions),
    )


def _queue_rule(rule: QueueRule, means: Means) -> Request:
    name = rule.interface.encode().ljust(_NAME_BYTES, b"\0")
    interface = _expression(
        "meta", attribute(1, _be32(_REGISTER)), attribute(2, _be32(_META_KEYS[rule.hook]))
    )
    asks = f"queue packets at {rule.node}/{rule.interface} ({rule.hook}, {means})"
    return _rule(asks, TABLE, rule.hook, interface, _equals(name), _to_queue(rule.number, means))


def _drop_rule(table: str, source: str) -> Request:
    place = (
        attribute(2, _be32(_NETWORK_HEADER)),
        attribute(3, _be32(_SOURCE_OFFSET)),
        attribute(4, _be32(_ADDRESS_BYTES)),
    )
    sender = _expression("payload", attribute(1, _be32(_REGISTER)), *place)
    verdict = nested_attributes(2, nested_attributes(2, attribute(1, _be32(_DROP))))
    drop = _expression("immediate", attribute(1, _be32(_VERDICT_REGISTER)), verdict)
    return _rule(
        f"drop packets from {source}",
        table,
        "input",
        sender,
        _equals(socket.inet_aton(source)),
        drop,
    )


def _equals(value: bytes) -> bytes:
    return _expression(
        "cmp",
        attribute(1, _be32(_REGISTER)),
        attribute(2, _be32(_EQUAL)),
        nested_attributes(3, attribute(1, value)),
    )


def _to_queue(number: int, means: Means) -> bytes:
    if means == "nft queue":
        return _expression(
            "queue", attribute(1, _be16(number)), attribute(2, _be16(1)), attribute(3, _be16(0))
        )
    revision, queues, flags, padding = 3, 1, 0, 0
    target = struct.pack("=HHHH", number, queues, flags, padding)
    return _expression(
        "target", attribute(1, text("NFQUEUE")), attribute(2, _be32(revision)), attribute(3, target)
    )


def _expression(name: str, *attributes: bytes) -> bytes:
    return nested_attributes(1, attribute(1, text(name)), nested_attributes(2, *attributes))


def _request(
    asks: str,
    kind: int,
    flags: int,
    *attributes: bytes,
    family: int = socket.AF_INET,
    resource: int = 0,
) -> Request:
    return Request(
        asks=asks,
        kind=kind,
        flags=flags,
        body=struct.pack("!BBH", family, 0, resource) + b"".join(attributes),
    )


def _be32(number: int) -> bytes:
    return struct.pack("!I", number & 0xFFFFFFFF)


def _be16(number: int) -> bytes:
    return struct.pack("!H", number)
