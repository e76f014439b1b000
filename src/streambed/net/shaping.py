"""What gives each direction of each link its shape: decided here, without touching anything.

        sender                                        receiver
    rate:  tbf ──────────────── veth ───────────────▶
    delay, jitter, loss, cuts, by the machine's means:
      netem       on the sender, with the tbf beneath it
      delay line  in the sender if that is a switch (postrouting, by outgoing interface),
                  else in the receiver (prerouting, by incoming interface)

With netem the rate comes after the delay in the kernel's order. A link carries as much either way, because a constant delay
and a rate may change places; and the rate's own queue keeps its limit, which it would lose above netem. One thing differs: a
host that fills its own link is held back by the kernel before the queue of a delayless tbf grows, but netem has let go of its
packets by then, so that they wait in that queue, for as long as its limit lets them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from streambed.errors import MachineError
from streambed.net import rtnetlink
from streambed.net.netlink import Request
from streambed.net.nfnetlink import QueueRule
from streambed.net.rtnetlink import Bucket
from streambed.plan import LONGEST_NETEM_JITTER_NS, Means, Plan, PlannedLink, Port, Shape
from streambed.spread import Spread, spread

BURST_LEAST_BYTES = 3_200
BURST_PER_S = 250
LIMIT_LEAST_BYTES = 45_000
LIMIT_PER_S = 10
UNLIMITED_BPS = 100_000_000_000
"""More than any link here carries. A bucket that is no longer wanted gets it: taken away, it would lose what waits in it."""


@dataclass(frozen=True, kw_only=True)
class Direction:
    """One way through a link. `number` names it, also as the queue of the delay line."""

    number: int
    link: PlannedLink
    sender: Port
    receiver: Port
    shape: Shape
    means: Means
    """"none" where packets need neither netem nor the delay line."""
    from_switch: bool

    @property
    def rule(self) -> QueueRule:
        """Where the delay line takes its packets."""
        if self.from_switch:
            return QueueRule(node=self.sender.node, hook="postrouting", interface=self.sender.interface, number=self.number)
        return QueueRule(node=self.receiver.node, hook="prerouting", interface=self.receiver.interface, number=self.number)


def directions(plan: Plan) -> tuple[Direction, ...]:
    """Both ways through every link, numbered from 1; MachineError if this machine cannot do what they ask."""
    switches = {node.name for node in plan.nodes if node.switch}
    found: list[Direction] = []
    for link in plan.links:
        _refuse_what_cannot_be(link, plan)
        for (sender, receiver), shape in zip((link.ports, link.ports[::-1]), link.shapes, strict=True):
            found.append(
                Direction(
                    number=len(found) + 1,
                    link=link,
                    sender=sender,
                    receiver=receiver,
                    shape=shape,
                    means=plan.machine.means if link.emulated else "none",
                    from_switch=sender.node in switches,
                )
            )
    return tuple(found)


def _refuse_what_cannot_be(link: PlannedLink, plan: Plan) -> None:
    if link.emulated and plan.machine.means == "none":
        raise MachineError(
            f"link {link.name} has a delay, a loss or a cut, but this kernel has neither netem nor NFQUEUE; see `streambed doctor`"
        )
    if plan.machine.means == "netem" and any(shape.jitter_ns > LONGEST_NETEM_JITTER_NS for shape in link.shapes):
        raise MachineError(
            f"link {link.name} has a jitter of more than {LONGEST_NETEM_JITTER_NS / 1e9:.3f} s, which is the most that netem can do"
        )
    if any(shape.rate_bps for shape in link.shapes) and not plan.machine.shaping:
        raise MachineError(f"link {link.name} has a rate, but this kernel has no token bucket (sch_tbf); see `streambed doctor`")


def bucket(rate_bps: int) -> Bucket:
    """A token bucket that passes bursts of 4 ms and holds back at most 100 ms."""
    rate_bytes = max(1, rate_bps // 8)
    burst_bytes = max(BURST_LEAST_BYTES, rate_bytes // BURST_PER_S)
    return Bucket(rate_bytes=rate_bytes, burst_bytes=burst_bytes, limit_bytes=max(LIMIT_LEAST_BYTES, rate_bytes // LIMIT_PER_S))


def disciplines(direction: Direction, seed: int) -> list[Request]:
    """The queueing disciplines on the sender's interface, in the order in which they must be made."""
    made: list[Request] = []
    if direction.means == "netem":
        made.append(rtnetlink.netem(direction.sender, direction.shape, seed=netem_seed(direction, seed)))
    if direction.shape.rate_bps:
        parent = rtnetlink.NETEM_CHILD if direction.means == "netem" else rtnetlink.ROOT
        made.append(rtnetlink.tbf(direction.sender, bucket(direction.shape.rate_bps), parent))
    return made


def netem_seed(direction: Direction, seed: int) -> int:
    """The seed of one direction, all bits stirred: from small seeds netem draws alike, and loses the same first packets everywhere."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {direction.number}".encode(), digest_size=8).digest(), "big")


def changes(direction: Direction, before: Shape, after: Shape, seed: int) -> list[Request]:
    """Make the disciplines that do `before` do `after`; what a delay line does is not among them."""
    asked: list[Request] = []
    if direction.means == "netem":
        asked.append(rtnetlink.netem(direction.sender, after, seed=netem_seed(direction, seed), change=True))
    if before.rate_bps != after.rate_bps:
        parent = rtnetlink.NETEM_CHILD if direction.means == "netem" else rtnetlink.ROOT
        asked.append(rtnetlink.tbf(direction.sender, bucket(after.rate_bps or UNLIMITED_BPS), parent, change=True))
    return asked


def queue(direction: Direction, shape: Shape) -> dict[str, Any]:
    """What a queue of the delay line does to packets, with the meaning that netem gives it.

    A delay is drawn as delay_ns + jitter_ns * entry / 8192 for an entry of "table", or evenly up to jitter_ns to both sides if that
    is empty; "in_order": no packet is due before the one that came before it. If "enter" is above zero, packets are lost in bursts:
    each by "bad" or "good" of the state that holds, after which "leave" or "enter" may change the state; "loss" is then of no account.
    A packet of the share "reorder" is not delayed, one of the share "corrupt" has one bit turned over, and one of the share "duplicate"
    is sent twice: its copy is delayed, lost or corrupted by draws of its own, and goes on if the packet itself is lost.
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
    }


def delays(shape: Shape) -> Spread:
    """How the delays of a shape spread around `delay_ns`."""
    return spread(shape.distribution, shape.jitter_ns, shape.samples_ns)


def delay_line_queues(ways: Iterable[Direction], namespaces: dict[str, int]) -> list[dict[str, Any]]:
    """What the delay line must know of each of its queues; `namespaces` are descriptors by node.

    "namespace" is where its rule is; duplicates are sent from "sender_namespace", through the interface "sender_index".
    """
    return [
        queue(way, way.shape)
        | {
            "namespace": namespaces[way.rule.node],
            "sender_namespace": namespaces[way.sender.node],
            "sender_index": way.sender.index,
        }
        for way in ways
        if way.means == "delay_line"
    ]


def ports_without_offload(plan: Plan) -> list[Port]:
    """Ports of hosts that must send single packets, so that netem loses packets and not bundles of forty.

    A bundle may cross many links before the one that loses, so all hosts are meant if any link loses, or will when a fault comes:
    connections that exist by then go on bundling. The delay line needs none of this: the kernel unbundles for a queue that loses.
    """
    loses = any(shape.loss for link in plan.links for shape in link.shapes)
    loses = loses or any(fault.get("loss") for fault in plan.declaration.get("faults", ()))
    if plan.machine.means != "netem" or not loses:
        return []
    switches = {node.name for node in plan.nodes if node.switch}
    return [port for link in plan.links for port in link.ports if port.node not in switches]
