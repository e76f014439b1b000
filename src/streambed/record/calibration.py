"""What calibration measured of one direction of a link, and the largest allowed error."""

from __future__ import annotations

from dataclasses import dataclass

from streambed.units import shown

LATE_NS, LATE_SHARE = 1_000_000, 0.05
"""Largest allowed error of a delay: the larger of the two. Also bounds the mean lateness.
"""
RATE_SHARE = 0.05


@dataclass(frozen=True, kw_only=True)
class LinkCalibration:
    """One direction of a link: what was declared, and what was measured before anything ran."""

    link: str
    source: str
    target: str
    declared_ns: int
    """The expected mean delay."""
    measured_ns: int | None
    """The measured delay, without the cost of sending and receiving; None if no packet arrived."""
    chance_ns: int = 0
    """How far the declared jitter alone may shift the measured mean."""
    probes: int
    arrived: int
    loses_all: bool = False
    """Whether it was declared to lose every packet."""
    declared_bps: int = 0
    measured_bps: int | None = None
    """The measured rate; None if it was not measured."""

    @property
    def error_ns(self) -> int:
        """The error of its delay, beyond what chance explains."""
        if self.measured_ns is None:
            return 0
        return max(0, abs(self.measured_ns - self.declared_ns) - self.chance_ns)

    @property
    def rate_error(self) -> float:
        """The error of its rate, as a share of what was declared."""
        if not self.declared_bps or self.measured_bps is None:
            return 0.0
        return abs(self.measured_bps / self.declared_bps - 1)

    @property
    def silent(self) -> bool:
        """No packet arrived, although some should have."""
        return not self.arrived and not self.loses_all

    @property
    def wrong(self) -> bool:
        """Whether its error is larger than allowed."""
        return (
            self.silent
            or self.error_ns > bound_ns(self.declared_ns)
            or self.rate_error > RATE_SHARE
        )

    @property
    def only_slower(self) -> bool:
        """Whether all that is wrong with it is that packets are late."""
        slower = (self.measured_ns or 0) >= self.declared_ns
        return self.arrived > 0 and slower and self.rate_error <= RATE_SHARE

    @property
    def text(self) -> str:
        """What is wrong with it, for people; empty if nothing is."""
        direction = f"the link from {self.source} to {self.target}"
        if self.silent:
            return f"{direction} carried none of {self.probes} packets"
        if self.error_ns > bound_ns(self.declared_ns):
            measured = shown(self.measured_ns or 0)
            return f"{direction} took {measured} instead of {shown(self.declared_ns)}"
        if self.rate_error > RATE_SHARE:
            measured_mbit = (self.measured_bps or 0) / 1e6
            declared_mbit = self.declared_bps / 1e6
            return f"{direction} carried {measured_mbit:.3g} Mbit/s instead of {declared_mbit:.3g}"
        return ""


def bound_ns(delay_ns: int) -> int:
    """The largest allowed error of a link with this delay."""
    return max(LATE_NS, round(LATE_SHARE * delay_ns))
