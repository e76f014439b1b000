"""Cutting and mending, with a list in place of the kernel."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streambed.errors import WorldError
from streambed.net import shaping
from streambed.net.wires import Wire
from streambed.plan import Plan, Shape
from tests.support.small_plans import MS, pair

DECLARED = Shape(delay_ns=MS)
CUT = replace(DECLARED, loss=1.0)
PLAN = pair(DECLARED)


def wire_of(plan: Plan, orders: list[tuple[str, Shape]]) -> Wire:
    there, back = shaping.directions(plan)
    return Wire((there, back), lambda way, before, after: orders.append((way.sender.node, after)))


def test_a_cut_drops_what_its_source_sends() -> None:
    orders: list[tuple[str, Shape]] = []

    wire_of(PLAN, orders).cut(("b",))

    assert orders == [("b", CUT)]


def test_what_was_cut_twice_is_carried_again_when_it_was_mended_twice() -> None:
    orders: list[tuple[str, Shape]] = []
    wire = wire_of(PLAN, orders)

    for act in (wire.cut, wire.cut, wire.mend, wire.mend, wire.mend):
        act(("a",))

    assert orders == [("a", CUT), ("a", DECLARED)]


def test_of_two_changes_the_newer_counts_and_the_older_comes_back() -> None:
    orders: list[tuple[str, Shape]] = []
    wire = wire_of(PLAN, orders)

    wire.degrade(("a",), {"delay_ns": 2 * MS, "loss": 0.1})
    heal_newer = wire.degrade(("a",), {"delay_ns": 3 * MS})
    heal_newer()

    older = Shape(delay_ns=2 * MS, loss=0.1)
    assert orders == [("a", older), ("a", Shape(delay_ns=3 * MS, loss=0.1)), ("a", older)]


def test_equal_changes_of_two_faults_are_healed_each_for_itself() -> None:
    orders: list[tuple[str, Shape]] = []
    wire = wire_of(PLAN, orders)

    heals = [wire.degrade(("a",), {"loss": 0.5}) for _ in range(2)]
    heals[0]()
    assert orders == [("a", Shape(delay_ns=MS, loss=0.5))]
    heals[1]()

    assert orders[-1] == ("a", DECLARED)


def test_a_change_that_ends_during_a_cut_is_gone_when_that_is_mended() -> None:
    orders: list[tuple[str, Shape]] = []
    wire = wire_of(PLAN, orders)

    heal = wire.degrade(("a",), {"delay_ns": 9 * MS})
    wire.cut(("a",))
    heal()
    wire.mend(("a",))

    assert orders[-2:] == [("a", CUT), ("a", DECLARED)]


def test_an_unknown_broker_cannot_be_cut_off() -> None:
    with pytest.raises(WorldError, match="link a-b has the ends a and b, not c"):
        wire_of(PLAN, []).cut(("c",))


def test_a_link_that_is_not_emulated_cannot_be_cut() -> None:
    plan = replace(PLAN, links=(replace(PLAN.links[0], emulated=False),))

    with pytest.raises(WorldError, match="link a-b cannot be cut"):
        wire_of(plan, []).cut(("a",))
