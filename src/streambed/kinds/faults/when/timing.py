"""When a fault comes, and the keys by which a user says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from streambed.kinds.declaring import declared
from streambed.kinds.faults.when.triggers import CountTrigger, EventTrigger, Trigger
from streambed.units import Duration

TIMES_MAX = 1000


@dataclass(frozen=True, kw_only=True)
class Timing:
    """When a fault comes, as declared."""

    at: Duration | None = None
    """The first time; with a trigger, from when on that counts."""
    every: Duration | None = None
    repeat: int | None = None
    churn: int | None = None
    trigger: Trigger | None = None


Times = Annotated[int, Field(strict=True, ge=1, le=TIMES_MAX)]


@declared
class Timed:
    """The keys of every fault that say when it comes."""

    at: Duration | None = None
    """When it begins, counted from the start of the load. With `after` or `when`: not before."""
    every: Duration | None = None
    """Again this long after it began, until the load ends."""
    repeat: Times | None = None
    """How often in all, with `every`."""
    churn: Times | None = None
    """How many times, at random from the run's seed, from `at` on; never twice at once."""
    after: CountTrigger | None = None
    """When a number of records was acknowledged, such as 1000 acked on lines."""
    when: EventTrigger | None = None
    """When something happens, such as leader of lines/0 changes."""

    @property
    def timing(self) -> Timing:
        """The keys that say when it comes, as one value."""
        return Timing(
            at=self.at,
            every=self.every,
            repeat=self.repeat,
            churn=self.churn,
            trigger=self.after or self.when,
        )
