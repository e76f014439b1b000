"""A shape in words, for the plan and the report."""

from __future__ import annotations

from streambed.plan import Shape
from streambed.units import Bandwidth, Duration, Share, Size


def shape_words(shape: Shape) -> list[str]:
    """What one direction of a link does to packets, piece by piece; nothing if it does nothing."""
    words = [_delay(shape), _loss(shape)]
    shares = {"reordered": shape.reorder, "doubled": shape.duplicate, "damaged": shape.corrupt}
    words += [f"{Share(share)} {word}" for word, share in shares.items() if share]
    if shape.rate_bps:
        words.append(str(Bandwidth(shape.rate_bps)))
    if shape.queue_bytes:
        words.append(f"queue {Size(shape.queue_bytes)}")
    return [piece for piece in words if piece]


def _delay(shape: Shape) -> str:
    if not shape.delay_ns:
        return ""
    order = " in order" if shape.in_order else ""
    if shape.distribution == "samples":
        mean = Duration(float(f"{shape.delay_ns:.3g}"))
        deviation = Duration(float(f"{shape.jitter_ns:.3g}"))
        return f"{mean} ± {deviation} ({len(shape.samples_ns)} samples){order}"
    kind = "" if shape.distribution == "uniform" else f" ({shape.distribution})"
    jitter = f" ± {Duration(shape.jitter_ns)}{kind}" if shape.jitter_ns else ""
    return f"{Duration(shape.delay_ns)}{jitter}{order}"


def _loss(shape: Shape) -> str:
    if not shape.loss_enter:
        return f"{Share(shape.loss)} lost" if shape.loss else ""
    good = f" and {Share(shape.loss_good)} between" if shape.loss_good else ""
    bursts = f"begin {Share(shape.loss_enter)}, end {Share(shape.loss_leave)}"
    return f"{Share(shape.loss_bad)} lost in bursts{good} ({bursts})"
