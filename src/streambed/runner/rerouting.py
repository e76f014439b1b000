"""Rerouting: some time after a link fails or comes back, routes change to the best paths."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue

from pydantic import TypeAdapter

from streambed.declare.topology import Topology
from streambed.net.network import Network
from streambed.net.rerouting import Tables
from streambed.plan import Plan
from streambed.planner.route_tables import RouteTables
from streambed.record import now_ns
from streambed.record.events import Event, Reroute
from streambed.runner.live_world import LiveWorld

Failed = frozenset[str]
"""The names of the links that carry nothing either way."""


class Rerouter:
    """Notices failed links, and changes routes in a separate thread when the delay has passed."""

    def __init__(
        self,
        plan: Plan,
        network: Network,
        record: Callable[[Event], None],
        troubles: list[BaseException],
    ) -> None:
        topology = TypeAdapter(Topology).validate_python(plan.declaration["topology"])
        self._after_ns = topology.reroute.ns if topology.reroute else 0
        self._tables = RouteTables(topology, plan.links, plan.addresses())
        self._places = {link.name: at for at, link in enumerate(plan.links)}
        self._network = network
        self._record = record
        self._troubles = troubles
        self._seen: Failed = frozenset()
        self._known: dict[Failed, Tables] = {
            frozenset(): {node.name: node.routes for node in plan.nodes}
        }
        self._changes: SimpleQueue[tuple[int, Failed] | None] = SimpleQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="convergence")
        self._thread.start()

    def look(self) -> None:
        """Schedule new routes if links failed or came back; call it after each fault and heal."""
        failed = self._network.cut_wires()
        if failed != self._seen:
            self._seen = failed
            self._changes.put((now_ns() + self._after_ns, failed))

    def close(self) -> None:
        """Change no more routes."""
        self._stop.set()
        self._changes.put(None)
        self._thread.join()

    def _follow(self) -> None:
        try:
            while change := self._changes.get():
                self._change(*change)
        except Exception as error:  # LiveWorld.watch raises it in the main thread.
            self._troubles.append(error)

    def _change(self, due_ns: int, failed: Failed) -> None:
        """Compute routes ahead of time, so that they can be set on time."""
        if failed not in self._known:
            self._known[failed] = self._tables.tables(
                frozenset(self._places[name] for name in failed)
            )
        if self._stop.wait(max(0, due_ns - now_ns()) / 1e9):
            return
        changed = self._network.reroute(self._known[failed])
        late_ns = now_ns() - due_ns
        self._record(Reroute(without=tuple(sorted(failed)), nodes=tuple(changed), late_ns=late_ns))


@contextlib.contextmanager
def reroute_on_failure(world: LiveWorld) -> Iterator[None]:
    """Change routes when links fail, during the block."""
    rerouter = Rerouter(world.plan, world.network, world.record, world.troubles)
    world.links_changed = rerouter.look
    try:
        yield
    finally:
        world.links_changed = lambda: None
        rerouter.close()
