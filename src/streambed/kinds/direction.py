"""A way: what one direction of a link does to packets, as it is declared for a link, for its way
back, and for a fault.
"""

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


def _kind_of_loss(found: Any) -> str:
    return "[bursts]" if isinstance(found, (Mapping, Bursts)) else "[share]"


Loss = Annotated[
    Annotated[Share, Tag("[share]")] | Annotated[Bursts, Tag("[bursts]")],
    Discriminator(_kind_of_loss),
]


@declared
class Way:
    """One direction of a link. On a way back, what is not given is as on the way there; in a fault,
    as declared.
    """

    delay: Duration | None = None
    """How long a packet is on its way."""
    jitter: Duration | None = None
    """How far delays spread around `delay`: up to so much to both sides if uniform, else their
    standard deviation.
    """
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
        return {
            field.name: value
            for field in fields(Way)
            if (value := getattr(self, field.name)) is not None
        }

    def over(self, other: Way) -> Way:
        """What this gives, else what the other gives. Delays are either drawn from samples or not:
        what this gives goes.
        """
        left = other.given
        if self.samples is not None:
            left = {
                key: value
                for key, value in left.items()
                if key not in ("delay", "jitter", "distribution")
            }
        elif self.delay is not None:
            left.pop("samples", None)
        return Way(**(left | self.given))

    def contradictions(self) -> list[Problem]:
        """Keys that cannot stand beside each other or alone, and zeros that a shape would take for
        "nothing is asked".
        """
        wrong = {
            "distribution": f"there is no jitter that could be {self.distribution}: give a `jitter` as well",
            "loss.enter": "0% begins no burst: give more, or a share of all packets, such as `loss: 1%`",
            "rate": "a link that carries nothing is no link: give a rate above 0, or cut it with a fault",
            "queue": "nothing could wait, and nothing be sent: give a queue above 0",
        }
        held = {
            "distribution": bool(self.distribution) and not self.jitter and self.samples is None,
            "loss.enter": isinstance(self.loss, Bursts) and not self.loss.enter.fraction,
            "rate": self.rate is not None and not self.rate.bps,
            "queue": self.queue is not None and not self.queue.bytes,
        }
        beside = [
            key
            for key in ("delay", "jitter", "distribution")
            if self.samples is not None and self.given.get(key, Duration(0)) != Duration(0)
        ]
        says = "the samples say how long packets take: give either this or `samples`"
        return [Problem(key=key, says=says) for key in beside] + [
            Problem(key=key, says=wrong[key]) for key, so in held.items() if so
        ]

    def changes(self, samples: Samples) -> dict[str, Any]:
        """The fields of a shape (see plan.Shape) that it decides. Whoever gives a delay, says all
        about delays.
        """
        return _delays(self, samples) | _losses(self.loss) | _others(self)


def _delays(way: Way, samples: Samples) -> dict[str, Any]:
    if way.samples is not None:
        drawn = samples[way.samples]
        return {
            "delay_ns": round(fmean(drawn)),
            "jitter_ns": round(pstdev(drawn)),
            "distribution": "samples",
            "samples_ns": drawn,
        }
    if way.delay is None:
        return {}
    jitter_ns, distribution = way.jitter.ns if way.jitter else 0, way.distribution or "uniform"
    return {
        "delay_ns": way.delay.ns,
        "jitter_ns": jitter_ns,
        "distribution": distribution,
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


def _others(way: Way) -> dict[str, Any]:
    found: dict[str, Any] = {} if way.in_order is None else {"in_order": way.in_order}
    shares = {"reorder": way.reorder, "duplicate": way.duplicate, "corrupt": way.corrupt}
    found |= {key: share.fraction for key, share in shares.items() if share is not None}
    found |= {} if way.rate is None else {"rate_bps": way.rate.bps}
    return found | ({} if way.queue is None else {"queue_bytes": way.queue.bytes})
