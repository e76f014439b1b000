"""Verdicts of the check `latency` over hand-written histories."""

from streambed.kinds.checks.latency import Latency
from streambed.kinds.declared_parts import components_of
from tests.support.histories import (
    history_of,
    whole,
)

READER = {"reader": {"kind": "consumer", "node": "home", "reads": ["lines"]}}


def declared(components):
    return components_of({"components": whole(components)})


def verdict_of(*lines, of="reader", components=READER, broken=False, **limits):
    return Latency(of=of, **limits).judge(history_of(*lines, components=components, broken=broken))
