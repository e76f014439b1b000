"""Which records of a load a check counts: those after the warm-up, or those of one phase.

A record belongs to the time at which it was due.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from streambed.errors import UNKNOWN_FAULT, Problem, suggestion
from streambed.kinds.evidence.course import ActiveFault, faults_of
from streambed.record.history import History
from streambed.units import Duration

CALM, BEFORE, FAULTS, AFTER = "calm", "before", "faults", "after"
_TEXTS = {
    CALM: "while no fault was active",
    BEFORE: "before the first fault",
    FAULTS: "during faults",
    AFTER: "after the last fault",
}


def phase_text(phase: str) -> str:
    """A phase for people: during kill, before the first fault."""
    return _TEXTS.get(phase, f"during {phase}")


def phase_problems(phase: str, kinds: Iterable[str]) -> list[Problem]:
    """A phase is one of four words, or the kind of a declared fault; all but `calm` need one."""
    declared = sorted(set(kinds))
    if not phase or phase == CALM or (declared and phase in (*_TEXTS, *declared)):
        return []
    if not declared:
        says = f"'{phase}' needs a fault, and none is declared: add one, or write '{CALM}'"
    else:
        says = f"no fault of kind '{phase}' is declared. {suggestion(phase, (*_TEXTS, *declared))}"
    return [Problem(key="during", says=says, code=UNKNOWN_FAULT)]


def due_after_warm_up(history: History, warm_up: Duration) -> pl.Expr:
    """Whether a record was due after the warm-up; all were if the load never began."""
    return pl.col("due") >= (history.load_ns or 0) + warm_up.ns


def due_in_phase(history: History, phase: str) -> pl.Expr:
    """Whether a record was due in a phase of the load; without a phase, all were."""
    if not phase:
        return pl.lit(True)
    faults = faults_of(history)
    if phase == BEFORE:
        return _all_of(pl.col("due") < fault.start for fault in faults)
    if phase == AFTER:
        return _all_of(pl.col("due") > fault.end for fault in faults)
    if phase == CALM:
        return ~_due_during(faults)
    if phase == FAULTS:
        return _due_during(faults)
    return _due_during(fault for fault in faults if fault.kind == phase)


def _all_of(conditions: Iterable[pl.Expr]) -> pl.Expr:
    return pl.all_horizontal(pl.lit(True), *conditions)


def _due_during(faults: Iterable[ActiveFault]) -> pl.Expr:
    active = [pl.col("due").is_between(fault.start, fault.end) for fault in faults]
    return pl.any_horizontal(pl.lit(False), *active)
