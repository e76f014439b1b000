"""Limits: how much CPU and memory the processes of a component may use, and their priority."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.units import Share, Size

MEMORY_LEAST = Size(1 << 20)


@declared
class Limits:
    """What each process of a component, with its children, may use."""

    cpu: Share | None = None
    """The most it gets of the whole machine, all cores together."""
    memory: Size | None = None
    """The most it may use; a process that needs more is killed."""
    priority: Annotated[int, Field(ge=-20, le=19)] = 0
    """As for `nice`: from -20, before all others, to 19, after them."""
    cores: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """The numbers of the cores that it runs on, from 0 on; default: all."""

    def problems(self) -> list[Problem]:
        """What is impossible; keys are relative to the component."""
        problems = []
        if self.cpu and not 0 < self.cpu.fraction <= 1:
            says = (
                f"{self.cpu} is not allowed: give more than 0 % and at most 100 % of the whole "
                "machine, "
                "or leave it out"
            )
            problems.append(Problem(key="limits.cpu", says=says))
        if self.memory and self.memory < MEMORY_LEAST:
            says = f"{self.memory} is too little for any program: give {MEMORY_LEAST} or more"
            problems.append(Problem(key="limits.memory", says=says))
        for index, core in enumerate(self.cores):
            if core in self.cores[:index]:
                says = f"core {core} is named twice"
                problems.append(Problem(key=f"limits.cores.{index}", says=says))
        return problems
