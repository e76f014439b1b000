"""Cutting and mending, with a list in place of the kernel."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_plans import MS, pair

from streambed.errors import WorldError
from streambed.net import shaping
from streambed.net.wires import Wire
from streambed.plan import Plan, Shape

PLAN = pair(Shape(delay_ns=MS))


def wire_of(plan: Plan, orders: list[tuple[str, bool]]) -> Wire:
    there, back = shaping.directions(plan)
    return Wire((there, back), lambda way, wanted: orders.append((way.sender.node, wanted)))


def test_a_cut_drops_what_its_source_sends() -> None:
    orders: list[tuple[str, bool]] = []

    wire_of(PLAN, orders).cut(("b",))

    assert orders == [("b", True)]


def test_what_was_cut_twice_is_carried_again_when_it_was_mended_twice() -> None:
    orders: list[tuple[str, bool]] = []
    wire = wire_of(PLAN, orders)

    for act in (wire.cut, wire.cut, wire.mend, wire.mend, wire.mend):
        act(("a",))

    assert orders == [("a", True), ("a", False)]


def test_a_stranger_cannot_be_cut_off() -> None:
    with pytest.raises(WorldError, match="link a-b has the ends a and b, not c"):
        wire_of(PLAN, []).cut(("c",))


def test_a_link_that_is_not_emulated_cannot_be_cut() -> None:
    plan = replace(PLAN, links=(replace(PLAN.links[0], emulated=False),))

    with pytest.raises(WorldError, match="link a-b cannot be cut"):
        wire_of(plan, []).cut(("a",))
