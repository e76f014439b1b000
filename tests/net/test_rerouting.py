"""Which requests make other routes hold."""

from __future__ import annotations

from dataclasses import replace

from streambed.net.rerouting import Rerouting
from streambed.plan import Plan, Route, Shape
from tests.support.small_plans import chain

TO_B = Route(destination="10.0.0.2/32", interface="eth1")


def plan() -> Plan:
    return chain(1, Shape(), Shape())


def tables(*routes: Route) -> dict[str, tuple[Route, ...]]:
    return {node.name: routes if node.switch else node.routes for node in plan().nodes}


def test_only_nodes_whose_routes_differ_are_asked_and_only_once() -> None:
    rerouting = Rerouting(plan())
    other = replace(plan().node("switch1").routes[0], via="10.0.0.9")

    changed = {
        node: [request.asks for request in asked]
        for node, asked in rerouting.changes(tables(other, TO_B)).items()
    }

    assert changed == {"switch1": ["add the route to 10.0.0.1/32 by switch1/eth0 10.0.0.9"]}
    assert rerouting.changes(tables(other, TO_B)) == {}


def test_a_route_that_is_not_wanted_any_more_goes_after_the_new_ones_came() -> None:
    new = Route(destination="10.0.0.0/24", interface="eth0")

    (asked,) = Rerouting(plan()).changes(tables(new, TO_B)).values()

    assert [request.asks for request in asked] == [
        "add the route to 10.0.0.0/24 by switch1/eth0",
        "take away the route to 10.0.0.1/32 from switch1",
    ]
