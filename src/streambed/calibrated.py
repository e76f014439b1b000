"""What calibration found out about one way of a link."""

from __future__ import annotations

from dataclasses import dataclass

from streambed.units import shown

LATE_NS, LATE_SHARE = 1_000_000, 0.05
"""A link may be so far from its declared delay, or that share of it if that is more; so may be the mean lateness of a second."""
RATE_SHARE = 0.05


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """One way of a link: what was declared, and what was measured before anything ran."""

    link: str
    source: str
    target: str
    declared_ns: int
    """How long a packet should take in the mean."""
    measured_ns: int | None
    """How long it took, without what sending and receiving cost everywhere; None if no packet arrived."""
    chance_ns: int = 0
    """How far the declared jitter alone may have put the measured mean off."""
    probes: int
    arrived: int
    loses_all: bool = False
    """It was declared to carry nothing."""
    declared_bps: int = 0
    measured_bps: int | None = None
    """What it carried, if it was measured."""

    @property
    def error_ns(self) -> int:
        """How far it was from what was declared, beyond what chance explains."""
        return max(0, abs((self.measured_ns or 0) - self.declared_ns) - self.chance_ns) if self.measured_ns is not None else 0

    @property
    def rate_error(self) -> float:
        """The same of its rate, as a share of what was declared."""
        return abs(self.measured_bps / self.declared_bps - 1) if self.declared_bps and self.measured_bps is not None else 0.0

    @property
    def wrong(self) -> str:
        """What is wrong with it; empty if nothing is."""
        way = f"the link from {self.source} to {self.target}"
        if not self.arrived and not self.loses_all:
            return f"{way} carried none of {self.probes} packets"
        if self.error_ns > bound_ns(self.declared_ns):
            return f"{way} took {shown(self.measured_ns or 0)} instead of {shown(self.declared_ns)}"
        if self.rate_error > RATE_SHARE:
            return f"{way} carried {(self.measured_bps or 0) / 1e6:.3g} Mbit/s instead of {self.declared_bps / 1e6:.3g}"
        return ""

    @property
    def only_slower(self) -> bool:
        """It carries packets, all of them too late if anything."""
        return self.arrived > 0 and (self.measured_ns or 0) >= self.declared_ns and self.rate_error <= RATE_SHARE


def bound_ns(delay_ns: int) -> int:
    """How far a link may be from its delay."""
    return max(LATE_NS, round(LATE_SHARE * delay_ns))
