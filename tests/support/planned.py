"""Plans of a small star with Kafka and a producer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streambed.declare.experiment import Experiment
from streambed.declare.link import Direction, Link
from streambed.declare.topology import Topology
from streambed.kinds.components import Kafka
from streambed.kinds.components.kafka.topic import Topic
from streambed.plan import Machine, Plan
from streambed.planner.planner import plan_for

KAFKA = Kafka(name="kafka", nodes=["b"], topics={"lines": Topic()})


STAR = (
    Link(ends=("a", "core"), delay="20ms", back=Direction(loss="1%")),
    Link(ends=("b", "core"), rate="10Mbit"),
)


def planned(
    *components: Any, links: tuple[Link, ...] = STAR, machine: Machine | None = None, **changes: Any
) -> Plan:
    switches = ["core"] if any("core" in link.ends for link in links) else []
    topology = Topology(switches=switches, links=links)
    experiment = Experiment(
        name="first", duration="10s", topology=topology, components=list(components), **changes
    )
    return plan_for(
        experiment, machine or Machine(python="python"), base=Path("here"), directory=Path("runs/1")
    )
