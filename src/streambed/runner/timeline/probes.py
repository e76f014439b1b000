"""Probes: a few packets sent while a fault of the network is active, to show its effect.

They are sent by a thread, and waited for no longer than half of the time that the fault lasts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from statistics import median

from streambed.errors import WorldError
from streambed.plan import PlannedInjection, Port, Shape
from streambed.record.events import ProbedFault, ProbeResult
from streambed.runner.calibration.probing import ProbedDirection, exchange, sockets
from streambed.runner.live_world import LiveWorld
from streambed.world import Injected

SHORTEST_NS = 200_000_000
"""A fault that is over sooner is not probed."""
WAIT_NS_MAX = 2_000_000_000
"""How long a packet is waited for."""
DIRECTIONS_MAX = 16


def probe_fault(
    world: LiveWorld, injection: PlannedInjection, kind: str, injected: Injected
) -> None:
    """Begin to probe what a fault did to the network, if it did anything and lasts long enough."""
    if injection.lasts_ns < SHORTEST_NS or world.plan.outside:
        return
    directions = list(_directions(world, injected))[:DIRECTIONS_MAX]
    if not directions:
        return
    wait_ns = min(WAIT_NS_MAX, injection.lasts_ns // 2)

    ports = {port for direction in directions for port in (direction.sender, direction.receiver)}
    one_at_a_time: threading.Lock = world.keep("fault probes", threading.Lock)

    def probe() -> None:
        try:
            with one_at_a_time, sockets(world, ports) as opened:
                exchange(directions, opened, world.plan.addresses(), wait_ns)
        except (OSError, WorldError):
            return  # The run is over, and its hosts are closed.
        world.record(
            ProbedFault(
                fault=injection.fault,
                kind=kind,
                target=injected.target,
                ways=tuple(_result(direction) for direction in directions),
            )
        )

    threading.Thread(target=probe, name="fault probe", daemon=True).start()


def _directions(world: LiveWorld, injected: Injected) -> Iterator[ProbedDirection]:
    """Both directions of every link that was hit, then the pairs of hosts."""
    hit = {frozenset(ends) for ends in injected.links}
    for link in world.plan.links:
        there, back = link.ports
        if frozenset((there.node, back.node)) in hit:
            yield ProbedDirection(link=link.name, sender=there, receiver=back, shape=Shape())
            yield ProbedDirection(link=link.name, sender=back, receiver=there, shape=Shape())
    for source, target in injected.pairs:
        yield ProbedDirection(
            link="", sender=_anywhere(source), receiver=_anywhere(target), shape=Shape()
        )


def _anywhere(node: str) -> Port:
    """A host, by the interface that its routes choose."""
    return Port(node=node, interface="", index=0)


def _result(direction: ProbedDirection) -> ProbeResult:
    took = direction.took_ns.values()
    return ProbeResult(
        source=direction.sender.node,
        target=direction.receiver.node,
        link=direction.link,
        sent=len(direction.sent_ns),
        arrived=len(took),
        delay_ns=round(median(took)) if took else None,
    )
