"""Decides how each direction of each link gets its shape, without touching anything.

        sender                                        receiver
    rate:  tbf ──────────────── veth ───────────────▶
    delay, jitter, loss, cuts, by the machine's means:
      from a switch  in the sender: netem with the tbf beneath it,
                     or the delay line (postrouting, by outgoing interface)
      from a host    in the receiver: netem on an ifb to which arriving packets are redirected,
                     or the delay line (prerouting, by incoming interface)

A host that fills its own link is held back by the kernel before the queue of its tbf grows, as it
would be for a network card; netem in the sender would let go of its packets before that, so that
they fill the queue. A switch only passes packets on, so netem may be there, which saves an
interface. The rate then comes after the delay in the kernel's order: a link carries as much either
way, because a constant delay and a rate may change places; and the rate's own queue keeps its
limit, which it would lose above netem. A machine without ifb has netem in every sender (see
Machine.arrivals).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from streambed.errors import MachineError
from streambed.kinds.direction_rules import delays
from streambed.net.netlink import rtnetlink
from streambed.net.netlink.netlink import Request
from streambed.net.netlink.nfnetlink import QueueRule
from streambed.net.netlink.rtnetlink import Bucket
from streambed.plan import LONGEST_NETEM_JITTER_NS, Means, Plan, PlannedLink, Port, Shape

BURST_LEAST_BYTES = 3_200
BURST_PER_S = 250
LIMIT_LEAST_BYTES = 45_000
LIMIT_PER_S = 10
LARGEST_PACKET_BYTES = 65_536 + 14
UNLIMITED_BPS = 100_000_000_000
"""More than any link here carries. An unwanted bucket gets this rate: if it were removed, it would
lose what waits in it.
"""

Asked = list[tuple[str, Request]]
"""Requests, each with the node whose network it is for."""


@dataclass(frozen=True, kw_only=True)
class EmulatedDirection:
    """One direction of a link as emulated. `number` also names its queue in the delay line."""

    number: int
    link: PlannedLink
    sender: Port
    receiver: Port
    shape: Shape
    means: Means
    """"none" where packets need neither netem nor the delay line."""
    on_arrival: bool
    """Packets are delayed in the receiver, not in the sender."""

    @property
    def netem_port(self) -> Port:
        """The interface that netem is on."""
        return rtnetlink.arrivals(self.receiver) if self.on_arrival else self.sender

    @property
    def bucket_parent(self) -> int:
        """The parent of the token bucket on the sender's interface."""
        return (
            rtnetlink.NETEM_CHILD
            if self.means == "netem" and not self.on_arrival
            else rtnetlink.ROOT
        )

    @property
    def rule(self) -> QueueRule:
        """Where the delay line takes its packets."""
        if self.on_arrival:
            return QueueRule(
                node=self.receiver.node,
                hook="prerouting",
                interface=self.receiver.interface,
                number=self.number,
            )
        return QueueRule(
            node=self.sender.node,
            hook="postrouting",
            interface=self.sender.interface,
            number=self.number,
        )


def directions(plan: Plan) -> tuple[EmulatedDirection, ...]:
    """Both directions of every link, numbered from 1; MachineError if the machine cannot do it."""
    switches = {node.name for node in plan.nodes if node.switch}
    arrivals = plan.machine.means != "netem" or plan.machine.arrivals
    numbered: list[EmulatedDirection] = []
    for link in plan.links:
        _refuse_what_cannot_be(link, plan)
        both_directions = (link.ports, link.ports[::-1])
        for (sender, receiver), shape in zip(both_directions, link.shapes, strict=True):
            direction = EmulatedDirection(
                number=len(numbered) + 1,
                link=link,
                sender=sender,
                receiver=receiver,
                shape=shape,
                means=plan.machine.means if link.emulated else "none",
                on_arrival=arrivals and sender.node not in switches,
            )
            numbered.append(direction)
    return tuple(numbered)


def _refuse_what_cannot_be(link: PlannedLink, plan: Plan) -> None:
    if link.emulated and plan.machine.means == "none":
        raise MachineError(
            f"link {link.name} has a delay, a loss or a cut, but this kernel has neither netem nor "
            "NFQUEUE; see `streambed doctor`"
        )
    if plan.machine.means == "netem":
        for shape in link.shapes:
            _refuse_what_netem_cannot(link.name, shape)
    if any(shape.rate_bps for shape in link.shapes) and not plan.machine.shaping:
        raise MachineError(
            f"link {link.name} has a rate, but this kernel has no token bucket (sch_tbf); see "
            "`streambed doctor`"
        )


def _refuse_what_netem_cannot(link: str, shape: Shape) -> None:
    if delays(shape).width_ns > LONGEST_NETEM_JITTER_NS:
        raise MachineError(
            f"link {link} has delays that spread further than the "
            f"{LONGEST_NETEM_JITTER_NS / 1e9:.3f} s that netem can do"
        )


def bucket(rate_bps: int, queue_bytes: int = 0) -> Bucket:
    """A token bucket that passes bursts of 4 ms and holds back at most `queue_bytes`; if that is
    zero, 100 ms.
    """
    rate_bytes = max(1, round(rate_bps / 8))
    burst_bytes = max(BURST_LEAST_BYTES, rate_bytes // BURST_PER_S)
    limit_bytes = queue_bytes or max(LIMIT_LEAST_BYTES, rate_bytes // LIMIT_PER_S)
    return Bucket(rate_bytes=rate_bytes, burst_bytes=burst_bytes, limit_bytes=limit_bytes)


def disciplines(direction: EmulatedDirection, seed: int) -> Asked:
    """The requests that make the queueing disciplines of a direction, in order."""
    made: Asked = []
    if direction.means == "netem":
        port = direction.netem_port
        if direction.on_arrival:
            made += [(port.node, request) for request in rtnetlink.detour(direction.receiver)]
        made.append(
            (port.node, rtnetlink.netem(port, direction.shape, seed=netem_seed(direction, seed)))
        )
    if direction.shape.rate_bps:
        rate = bucket(direction.shape.rate_bps, direction.shape.queue_bytes)
        made.append(
            (direction.sender.node, rtnetlink.tbf(direction.sender, rate, direction.bucket_parent))
        )
    return made


def netem_seed(direction: EmulatedDirection, seed: int) -> int:
    """The seed of one direction, well mixed: small seeds make netem lose the same first packets."""
    return int.from_bytes(
        hashlib.blake2b(f"{seed} {direction.number}".encode(), digest_size=8).digest(), "big"
    )


def changes(direction: EmulatedDirection, before: Shape, after: Shape, seed: int) -> Asked:
    """The requests that change disciplines from `before` to `after`. The delay line is changed
    separately.
    """
    asked: Asked = []
    if direction.means == "netem":
        _refuse_what_netem_cannot(direction.link.name, after)
        even = bool(delays(before).table)
        port = direction.netem_port
        asked.append(
            (
                port.node,
                rtnetlink.netem(
                    port, after, seed=netem_seed(direction, seed), change=True, even=even
                ),
            )
        )
    if (before.rate_bps, before.queue_bytes) != (after.rate_bps, after.queue_bytes):
        rate = bucket(after.rate_bps or UNLIMITED_BPS, after.queue_bytes)
        waiting_bytes = (
            min(LARGEST_PACKET_BYTES, bucket(before.rate_bps).burst_bytes) if before.rate_bps else 0
        )
        rate = replace(
            rate, burst_bytes=max(rate.burst_bytes, waiting_bytes)
        )  # A larger waiting packet would block the queue forever.
        asked.append(
            (
                direction.sender.node,
                rtnetlink.tbf(direction.sender, rate, direction.bucket_parent, change=True),
            )
        )
    return asked


def queue(direction: EmulatedDirection, shape: Shape) -> dict[str, Any]:
    """What a queue of the delay line does to packets, with the meaning that netem gives it.

    A delay is drawn as delay_ns + jitter_ns * entry / 8192 for an entry of "table", or evenly up to
    jitter_ns to both sides if that is empty; "in_order": no packet is due before the one that came
    before it. If "enter" is above zero, packets are lost in bursts: each by "bad" or "good" of the
    current state, after which "leave" or "enter" may change the state; "loss" is then
    ignored. A packet of the share "reorder" is not delayed, one of the share "corrupt" has one bit
    turned over, and one of the share "duplicate" is sent twice: its copy is delayed, lost or
    corrupted by separate draws, and is sent even if the packet itself is lost. While "held" is
    true, every packet is kept; then all of them are sent at once, in their order.
    """
    drawn = delays(shape)
    return {
        "number": direction.number,
        "delay_ns": shape.delay_ns,
        "jitter_ns": drawn.width_ns,
        "table": list(drawn.table),
        "in_order": shape.in_order,
        "loss": shape.loss,
        "enter": shape.loss_enter,
        "leave": shape.loss_leave,
        "bad": shape.loss_bad,
        "good": shape.loss_good,
        "reorder": shape.reorder,
        "duplicate": shape.duplicate,
        "corrupt": shape.corrupt,
        "held": shape.held,
    }


def delay_line_queues(
    directions: Iterable[EmulatedDirection], namespaces: dict[str, int]
) -> list[dict[str, Any]]:
    """The configuration of each queue of the delay line; `namespaces` are descriptors by node.

    "namespace" is where its rule is; duplicates are sent from "sender_namespace", through the
    interface "sender_index".
    """
    return [
        queue(direction, direction.shape)
        | {
            "namespace": namespaces[direction.rule.node],
            "sender_namespace": namespaces[direction.sender.node],
            "sender_index": direction.sender.index,
        }
        for direction in directions
        if direction.means == "delay_line"
    ]
