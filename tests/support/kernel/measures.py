"""Everything that is measured in a small network; `box.py` calls it inside a box."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from streambed import plan as plans
from streambed.net.network import network
from tests.support.kernel import (
    calibration_measures,
    fault_measures,
    link_measures,
    packet_measures,
)
from tests.support.kernel.discipline_measures import disciplines
from tests.support.kernel.streams import STREAMS

MEASURES: dict[str, Callable[..., dict[str, Any]]] = {
    **link_measures.MEASURES,
    **fault_measures.MEASURES,
    **calibration_measures.MEASURES,
    **packet_measures.MEASURES,
    **STREAMS,
    "disciplines": disciplines,
}


def measure(plan_path: str, folder: str, name: str) -> dict[str, Any]:
    """Build the plan and take one measurement."""
    plan = plans.read(Path(plan_path))
    with network(plan, Path(folder)) as net:
        if name == "rerouted":
            return fault_measures.rerouted(net, plan)
        if name == "filled_disk":
            return fault_measures.filled_disk(net, Path(folder))
        return MEASURES[name](net)
