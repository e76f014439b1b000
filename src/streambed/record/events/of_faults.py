"""What happens to the faults of a declaration."""

from __future__ import annotations

from dataclasses import dataclass

from streambed.record.events.event import Event


@dataclass(frozen=True, kw_only=True)
class FaultEvent(Event):
    """Something happened to a fault of the declaration."""

    fault: int
    """Its index in `faults`."""
    kind: str
    target: str = ""


@dataclass(frozen=True, kw_only=True)
class Inject(FaultEvent):
    """A fault was injected."""

    lasts_ns: int = 0
    late_ns: int = 0
    """After its declared time, or after what triggered it."""
    trigger: str = ""
    """What triggered it; empty for a fault with a declared time."""
    how: str = ""
    """By what means, if there are several."""
    nodes: tuple[str, ...] = ()
    """The nodes that were cut off or separated."""
    processes: tuple[str, ...] = ()
    """The processes that were hit."""
    links: tuple[tuple[str, str], ...] = ()
    """The ends of the links that were hit."""


@dataclass(frozen=True, kw_only=True)
class InjectFailed(FaultEvent):
    """A fault could not be injected; the run continued without it."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Heal(FaultEvent):
    """A fault was healed."""

    late_ns: int = 0


@dataclass(frozen=True, kw_only=True)
class HealFailed(FaultEvent):
    """A fault could not be healed."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """How a few packets fared from one node to another."""

    source: str
    target: str
    link: str = ""
    """The link that they took; empty if the routes chose their path."""
    sent: int
    arrived: int
    delay_ns: int | None = None
    """The median; None if none arrived."""


@dataclass(frozen=True, kw_only=True)
class ProbedFault(FaultEvent):
    """What a fault of the network did to a few packets, measured while it was active."""

    ways: tuple[ProbeResult, ...]
