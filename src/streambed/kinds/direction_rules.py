"""What no link can do, and what this machine cannot, each with the nearest possible value."""

from __future__ import annotations

from collections import defaultdict

from streambed.errors import Problem
from streambed.kinds.delay_table import Spread, spread
from streambed.kinds.direction import Direction, Samples
from streambed.plan import LONGEST_NETEM_JITTER_NS, SHORTEST_DELAY_NS, Machine, Shape
from streambed.units import Bandwidth, Duration, Share, Size

FRAME_BYTES = 1_514
"""A full packet on a link: 1500 bytes and its Ethernet header."""
LONGEST_DELAY_NS = 3_600_000_000_000
"""A million packets a second for this long are about as many as netem can count."""
LEAST_SHARE = 2.0**-32
"""netem and the delay line both draw 32 bits."""
RATE_MAX_BPS = 100_000_000_000
QUEUE_MAX_BYTES = 2**32 - 1
ROUNDING_MAX = 0.001
"""Largest relative error of a rate: the kernel counts whole bytes a second."""

UNREAD: Samples = defaultdict(lambda: (SHORTEST_DELAY_NS,))
"""Replaces files of samples where only other keys are checked."""
_PARTNERS = {
    "jitter": ("delay", "distribution"),
    "reorder": ("in_order", "delay"),
    "queue": ("rate",),
}
"""Which keys may be at fault as well."""


def direction_problems(direction: Direction, merged: Direction) -> list[Problem]:
    """Impossible combinations of the keys of `direction`; `merged` also has the inherited keys."""
    problems = direction.contradictions() or merged.contradictions()
    return problems or shape_problems(direction, Shape(**merged.changes(UNREAD)))


def shape_problems(direction: Direction, shape: Shape) -> list[Problem]:
    """What is impossible in a shape because of the keys of `direction`."""
    problems = []
    for key, says in impossible(shape).items():
        outer = key.partition(".")[0]
        if outer in direction.given:
            problems.append(Problem(key=key, says=says))
            continue
        partners = [partner for partner in _PARTNERS.get(outer, ()) if partner in direction.given]
        if partners:
            problems.append(Problem(key=partners[0], says=says))
    return problems


def delays(shape: Shape) -> Spread:
    """How the delays of a shape spread around `delay_ns`."""
    return spread(shape.distribution, shape.jitter_ns, shape.samples_ns)


def impossible(shape: Shape) -> dict[str, str]:
    """What no link can do, by the key that asks for it."""
    messages = {"delay": _wrong_delay(shape.delay_ns), "jitter": _wrong_jitter(shape)}
    for key, share in _shares(shape).items():
        messages[key] = _wrong_share(share)
    messages["rate"] = _wrong_rate(shape.rate_bps)
    messages["queue"] = _wrong_queue(shape)
    if shape.reorder and not messages["reorder"]:
        messages["reorder"] = _wrong_reorder(shape)
    if shape.loss_enter and not shape.loss_leave:
        messages["loss.leave"] = "a burst that never ends is a cut: give more than 0%"
    return {key: says for key, says in messages.items() if says}


def missing_ability(shape: Shape, machine: Machine) -> str:
    """What this machine cannot do, worded to follow "this machine"; empty if it can."""
    if shape.rate_bps and not machine.shaping:
        return "cannot limit rates"
    if machine.means == "delay_line" and 0 < shape.delay_ns < SHORTEST_DELAY_NS:
        least = Duration(SHORTEST_DELAY_NS)
        return (
            f"has no netem, without which it cannot delay by less than {least} "
            f"(give 0s, {least} or more)"
        )
    if machine.means == "netem" and delays(shape).width_ns > LONGEST_NETEM_JITTER_NS:
        longest = Duration(shape.jitter_ns * LONGEST_NETEM_JITTER_NS // delays(shape).width_ns)
        return f"delays by netem, which can do no more jitter than {longest} of this distribution"
    return ""


def _wrong_delay(delay_ns: int) -> str:
    if delay_ns <= LONGEST_DELAY_NS:
        return ""
    return f"{Duration(delay_ns)} is longer than {Duration(LONGEST_DELAY_NS)}"


def _wrong_jitter(shape: Shape) -> str:
    short_ns = -delays(shape).least_ns
    if short_ns <= shape.delay_ns or shape.distribution == "samples":
        return ""
    jitter, delay = Duration(shape.jitter_ns), Duration(shape.delay_ns)
    if shape.distribution == "uniform":
        return (
            f"a jitter of {jitter} is more than the delay of {delay}: "
            "give no more than that, or a longer delay"
        )
    longest_jitter_ns = shape.jitter_ns * shape.delay_ns // short_ns
    # Both to three digits, the delay rounded up and the jitter down.
    step = _third_digit(short_ns)
    least = Duration(-(-short_ns // step) * step)
    step = _third_digit(longest_jitter_ns)
    most = Duration(longest_jitter_ns // step * step)
    return (
        f"a {shape.distribution} jitter of {jitter} draws delays that are up to {least} shorter "
        f"than the delay of {delay}: "
        f"give a jitter of {most} at most, or a delay of {least} at least"
    )


def _third_digit(number: int) -> int:
    """What the third digit of a number counts: 10 for 1234."""
    power: int = 10 ** max(0, len(str(number)) - 3)
    return power


def _shares(shape: Shape) -> dict[str, float]:
    shares = {
        "loss": shape.loss,
        "reorder": shape.reorder,
        "duplicate": shape.duplicate,
        "corrupt": shape.corrupt,
    }
    if not shape.loss_enter and not shape.loss_leave:
        return shares
    bursts = {
        "enter": shape.loss_enter,
        "leave": shape.loss_leave,
        "bad": shape.loss_bad,
        "good": shape.loss_good,
    }
    return shares | {f"loss.{key}": share for key, share in bursts.items()}


def _wrong_share(share: float) -> str:
    if share > 1:
        return f"{Share(share)} is more than 100 %"
    if 0 < share < LEAST_SHARE:
        return f"{Share(share)} is too small to be drawn: give 0%, or {Share(LEAST_SHARE)} or more"
    return ""


def _wrong_reorder(shape: Shape) -> str:
    if not shape.delay_ns:
        return "without a delay no packet can overtake another: give a `delay` as well"
    if shape.in_order:
        conflict = "packets cannot overtake each other and stay in order"
        return f"{conflict}: leave out `in_order` or `reorder`"
    return ""


def _wrong_rate(rate_bps: int) -> str:
    if rate_bps > RATE_MAX_BPS:
        return (
            f"{Bandwidth(rate_bps)} is more than {Bandwidth(RATE_MAX_BPS)}: "
            "leave the rate out, and a link carries what the machine can"
        )
    nearest_bps = max(1, round(rate_bps / 8)) * 8
    if abs(nearest_bps - rate_bps) <= rate_bps * ROUNDING_MAX:
        return ""
    return (
        f"the kernel (tbf) counts whole bytes a second, so {Bandwidth(rate_bps)} is not allowed: "
        f"the nearest is {Bandwidth(nearest_bps)}"
    )


def _wrong_queue(shape: Shape) -> str:
    if not shape.queue_bytes:
        return ""
    if not shape.rate_bps:
        return "without a rate nothing waits: give a `rate` as well"
    if shape.queue_bytes < FRAME_BYTES:
        return (
            f"{Size(shape.queue_bytes)} cannot hold a full packet: give {Size(FRAME_BYTES)} or more"
        )
    if shape.queue_bytes > QUEUE_MAX_BYTES:
        return f"{Size(shape.queue_bytes)} is more than {Size(QUEUE_MAX_BYTES)}"
    return ""
