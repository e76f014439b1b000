"""Checks: pure functions of a history, with three answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streambed.kinds.kind_table import KindTable

if TYPE_CHECKING:
    from streambed.kinds.checks.at_least_once import AtLeastOnce
    from streambed.kinds.checks.at_most_once import AtMostOnce
    from streambed.kinds.checks.atomic import Atomic
    from streambed.kinds.checks.available import Available
    from streambed.kinds.checks.equals import Equals
    from streambed.kinds.checks.exactly_once import ExactlyOnce
    from streambed.kinds.checks.fresh import Fresh
    from streambed.kinds.checks.happens import Happens
    from streambed.kinds.checks.input_complete import InputComplete
    from streambed.kinds.checks.late_as_declared import LateAsDeclared
    from streambed.kinds.checks.latency import Latency
    from streambed.kinds.checks.log import Log
    from streambed.kinds.checks.no_loss import NoLoss
    from streambed.kinds.checks.ordered import Ordered
    from streambed.kinds.checks.recovers import Recovers
    from streambed.kinds.checks.same_as import SameAs
    from streambed.kinds.checks.succeeds import Succeeds

CHECKS: KindTable[Any] = KindTable(
    "streambed.kinds.checks",
    {
        "at_least_once": "at_least_once:AtLeastOnce",
        "at_most_once": "at_most_once:AtMostOnce",
        "atomic": "atomic:Atomic",
        "available": "available:Available",
        "equals": "equals:Equals",
        "exactly_once": "exactly_once:ExactlyOnce",
        "fresh": "fresh:Fresh",
        "happens": "happens:Happens",
        "input_complete": "input_complete:InputComplete",
        "late_as_declared": "late_as_declared:LateAsDeclared",
        "latency": "latency:Latency",
        "log": "log:Log",
        "no_loss": "no_loss:NoLoss",
        "ordered": "ordered:Ordered",
        "recovers": "recovers:Recovers",
        "same_as": "same_as:SameAs",
        "succeeds": "succeeds:Succeeds",
    },
)

__all__ = [
    "CHECKS",
    "AtLeastOnce",
    "AtMostOnce",
    "Atomic",
    "Available",
    "Equals",
    "ExactlyOnce",
    "Fresh",
    "Happens",
    "InputComplete",
    "LateAsDeclared",
    "Latency",
    "Log",
    "NoLoss",
    "Ordered",
    "Recovers",
    "SameAs",
    "Succeeds",
]


if not TYPE_CHECKING:  # With it in sight, mypy would take any misspelt name for Any.

    def __getattr__(name: str) -> Any:
        return CHECKS.class_called(name)
