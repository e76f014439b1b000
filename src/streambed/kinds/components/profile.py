"""How the rate of a producer changes while the load lasts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from streambed.kinds.declaring import declared
from streambed.record.orders import ProfileOrder
from streambed.units import Duration, Frequency

KEYS = {
    "ramp": {"to"},
    "steps": {"rates"},
    "spike": {"to", "at", "lasts"},
    "on_off": {"bursts", "pauses"},
    "trace": {"file"},
}
"""What each shape cannot do without."""
ALLOWED = {"ramp": {"lasts"}, "steps": {"lasts"}, "trace": {"column", "interval", "speed"}}
"""The other keys that each shape may have."""

RATE_MAX = Frequency(10_000_000)
"""More than one client sends in a second."""


@declared
class Profile:
    """The rate over the load, from `rate` on; it counts from when the producer begins."""

    shape: Literal["ramp", "steps", "spike", "on_off", "trace"]
    """Evenly to another rate, in steps, higher for a while, in bursts with pauses between them, or
    as a file says.
    """
    to: Frequency | None = None
    """ramp, spike: the other rate."""
    at: Duration | None = None
    """spike: when it begins."""
    lasts: Duration | None = None
    """ramp: until `to` is reached, which then stays; spike: how long; steps: each. Default: the
    whole load, or its equal part.
    """
    rates: tuple[Frequency, ...] = ()
    """steps: one after the other; the last stays."""
    bursts: Duration | None = None
    """on_off: how long it sends at `rate`."""
    pauses: Duration | None = None
    """on_off: how long it is silent then."""
    file: str = ""
    """trace: a number on each line."""
    column: Literal["times", "counts"] = "times"
    """trace: what the numbers are: seconds at which records are due, in order, or how many are due
    in each interval.
    """
    interval: Duration = Duration(1e9)
    """trace: of counts."""
    speed: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """trace: play the file faster by this factor."""

    @model_validator(mode="after")
    def _whole(self) -> Profile:
        declared = self._declared_keys()
        needed = KEYS[self.shape]
        allowed = needed | ALLOWED.get(self.shape, set())
        missing = sorted(needed - declared)
        if missing:
            raise ValueError(f"the shape {self.shape} needs {' and '.join(missing)}")
        unused = sorted(declared - allowed)
        if unused:
            raise ValueError(f"the shape {self.shape} has no use for {' and '.join(unused)}")
        for key in ("lasts", "bursts", "pauses", "interval"):
            duration = getattr(self, key)
            if duration is not None and not duration.ns:
                raise ValueError(f"{key} must be above 0s")
        fast = [rate for rate in (self.to, *self.rates) if rate and rate > RATE_MAX]
        if fast:
            raise ValueError(f"{fast[0]} is too fast: give {RATE_MAX} or less")
        return self

    def _declared_keys(self) -> set[str]:
        """The keys, besides `shape`, whose values are not the defaults."""
        keys: set[str] = set()
        for key, field in self.__dataclass_fields__.items():
            if key != "shape" and getattr(self, key) != field.default:
                keys.add(key)
        return keys

    def order(self, file: str) -> ProfileOrder:
        """The part of the agent's order for a profile; `file` is the path of the trace."""
        return ProfileOrder(
            shape=self.shape,
            to=self.to.per_s if self.to else 0.0,
            rates=tuple(rate.per_s for rate in self.rates),
            file=file,
            column=self.column,
            speed=self.speed,
            at_s=_seconds(self.at),
            lasts_s=_seconds(self.lasts),
            bursts_s=_seconds(self.bursts),
            pauses_s=_seconds(self.pauses),
            interval_s=_seconds(self.interval),
        )


def _seconds(span: Duration | None) -> float:
    return span.s if span else 0.0
