"""One direction of a link: what it does to packets, as declared for a link or for a fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from statistics import fmean, pstdev
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag

from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.units import Bandwidth, Duration, Share, Size

Samples = Mapping[str, tuple[int, ...]]
"""The delays in nanoseconds that each file of samples holds, by its name in the declaration."""


@declared
class Bursts:
    """Loss in bursts (Gilbert–Elliott): a link is in a good state or in a bad one, and may change
    it at each packet.
    """

    enter: Share
    """How likely the bad state follows, at each packet in the good one."""
    leave: Share
    """How likely the good state follows, at each packet in the bad one: at 25 % the bad state lasts
    four packets on average.
    """
    bad: Share = Share(1)
    """How many packets are lost in the bad state."""
    good: Share = Share(0)
    """How many packets are lost in the good state."""

    def __str__(self) -> str:
        return f"enter {self.enter}, leave {self.leave}, bad {self.bad}, good {self.good}"


def _kind_of_loss(value: Any) -> str:
    return "[bursts]" if isinstance(value, (Mapping, Bursts)) else "[share]"


Loss = Annotated[
    Annotated[Share, Tag("[share]")] | Annotated[Bursts, Tag("[bursts]")],
    Discriminator(_kind_of_loss),
]


@declared
class Direction:
    """One direction of a link. Keys that a reverse direction or a fault omits are inherited."""

    delay: Duration | None = None
    """How long a packet is on its way."""
    jitter: Duration | None = None
    """How far delays vary around `delay`: the bound if uniform, else their standard deviation."""
    distribution: Literal["uniform", "normal", "pareto"] | None = None
    """How they spread; without it, uniform."""
    samples: str | None = None
    """A file of delays to draw from, one a line, instead of `delay` and `jitter`."""
    in_order: bool | None = None
    """Whether a packet with a short delay waits for those before it; without it, it overtakes them.
    """
    loss: Loss | None = None
    """How many packets never arrive, or how they are lost in bursts."""
    reorder: Share | None = None
    """How many packets are not delayed, so that they overtake others."""
    duplicate: Share | None = None
    """How many packets arrive twice."""
    corrupt: Share | None = None
    """How many packets have one bit turned over."""
    rate: Bandwidth | None = None
    """What it carries; without it, as much as the machine can."""
    queue: Size | None = None
    """How much may wait for the rate, more is dropped; without it, what the rate carries in 100 ms,
    but at least 45 kB.
    """

    @property
    def given(self) -> dict[str, Any]:
        """The keys that have a value, in the order of the class."""
        values = {field.name: getattr(self, field.name) for field in fields(Direction)}
        return {key: value for key, value in values.items() if value is not None}

    def over(self, other: Direction) -> Direction:
        """This direction, with the other's values for keys it leaves out.

        Samples replace delay, jitter and distribution, and a delay replaces samples.
        """
        inherited = other.given
        if self.samples is not None:
            for key in ("delay", "jitter", "distribution"):
                inherited.pop(key, None)
        elif self.delay is not None:
            inherited.pop("samples", None)
        return Direction(**(inherited | self.given))

    def contradictions(self) -> list[Problem]:
        """Keys that exclude or need each other, and zeros, which in a shape mean "not given"."""
        says: dict[str, str] = {}
        if self.samples is not None:
            for key in ("delay", "jitter", "distribution"):
                if self.given.get(key, Duration(0)) != Duration(0):
                    says[key] = (
                        "the samples say how long packets take: give either this or `samples`"
                    )
        elif self.distribution and not self.jitter:
            says["distribution"] = (
                f"there is no jitter that could be {self.distribution}: give a `jitter` as well"
            )
        if isinstance(self.loss, Bursts) and not self.loss.enter.fraction:
            says["loss.enter"] = (
                "0% begins no burst: give more, or a share of all packets, such as `loss: 1%`"
            )
        if self.rate is not None and not self.rate.bps:
            says["rate"] = (
                "a link that carries nothing is no link: give a rate above 0, "
                "or cut it with a fault"
            )
        if self.queue is not None and not self.queue.bytes:
            says["queue"] = "nothing could wait, and nothing be sent: give a queue above 0"
        return [Problem(key=key, says=text) for key, text in says.items()]

    def changes(self, samples: Samples) -> dict[str, Any]:
        """The fields of plan.Shape that it sets. A delay sets all fields about delays."""
        return _delays(self, samples) | _losses(self.loss) | _others(self)


def _delays(direction: Direction, samples: Samples) -> dict[str, Any]:
    if direction.samples is not None:
        drawn = samples[direction.samples]
        return {
            "delay_ns": round(fmean(drawn)),
            "jitter_ns": round(pstdev(drawn)),
            "distribution": "samples",
            "samples_ns": drawn,
        }
    if direction.delay is None:
        return {}
    return {
        "delay_ns": direction.delay.ns,
        "jitter_ns": direction.jitter.ns if direction.jitter else 0,
        "distribution": direction.distribution or "uniform",
        "samples_ns": (),
    }


def _losses(loss: Share | Bursts | None) -> dict[str, Any]:
    if loss is None:
        return {}
    if isinstance(loss, Share):
        return {"loss": loss.fraction, "loss_enter": 0.0}
    chances = {
        "loss_enter": loss.enter,
        "loss_leave": loss.leave,
        "loss_bad": loss.bad,
        "loss_good": loss.good,
    }
    return {"loss": 0.0} | {field: chance.fraction for field, chance in chances.items()}


def _others(direction: Direction) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if direction.in_order is not None:
        changes["in_order"] = direction.in_order
    shares = {
        "reorder": direction.reorder,
        "duplicate": direction.duplicate,
        "corrupt": direction.corrupt,
    }
    for key, share in shares.items():
        if share is not None:
            changes[key] = share.fraction
    if direction.rate is not None:
        changes["rate_bps"] = direction.rate.bps
    if direction.queue is not None:
        changes["queue_bytes"] = direction.queue.bytes
    return changes
