"""Rerouting: change the routes of the nodes of a live network."""

from __future__ import annotations

from collections.abc import Mapping

from streambed.net.netlink import rtnetlink
from streambed.net.netlink.netlink import Request
from streambed.plan import Plan, Port, Route

Tables = Mapping[str, tuple[Route, ...]]
"""The routes of every node."""


class Rerouting:
    """Keeps the current routes, and derives the requests that change them."""

    def __init__(self, plan: Plan) -> None:
        self._now: dict[str, tuple[Route, ...]] = {node.name: node.routes for node in plan.nodes}
        self._addresses = plan.addresses()
        self._ports: dict[str, dict[str, Port]] = {node.name: {} for node in plan.nodes}
        for port in (port for link in plan.links for port in link.ports):
            self._ports[port.node][port.interface] = port

    def changes(self, tables: Tables) -> dict[str, list[Request]]:
        """The requests of each node whose routes change; the new routes are current afterwards."""
        asked = {}
        for node, after in tables.items():
            before = self._now[node]
            if before != after:
                asked[node] = self._route_changes(node, before, after)
                self._now[node] = after
        return asked

    def _route_changes(
        self, node: str, before: tuple[Route, ...], after: tuple[Route, ...]
    ) -> list[Request]:
        """New and changed routes first, so that there is always a route."""
        known = set(before)
        destinations = {route.destination for route in after}
        new = [
            rtnetlink.route(route, self._ports[node], self._addresses[node], change=True)
            for route in after
            if route not in known
        ]
        return new + [
            rtnetlink.no_route(route, node)
            for route in before
            if route.destination not in destinations
        ]
