"""streambed: a test bed for streams.

Declare an application and the network it runs on, run it, judge it:

    import streambed
    from streambed import Consumer, Experiment, Kafka, Link, NoLoss, Producer, Topology

    run = streambed.run(Experiment(name="first", duration="10s", topology=Topology(links=[...]), components=[...]))
    streambed.check(run)
    run.ledger().sent

Names are loaded when first used: agents import this package on every host and must start fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streambed.api import check, report, run, study
    from streambed.experiment.link import Link
    from streambed.experiment.model import Experiment
    from streambed.experiment.topology import Topology
    from streambed.kinds.checks import Latency, NoLoss
    from streambed.kinds.components import Command, Consumer, Kafka, Producer, SparkJob, Traffic
    from streambed.kinds.components.kafka_topic import Topic
    from streambed.kinds.faults import Cut, Degrade, Isolate, Kill, Partition, Pause
    from streambed.runs import Run

_HOMES = {
    "Command": "streambed.kinds.components",
    "Consumer": "streambed.kinds.components",
    "Cut": "streambed.kinds.faults",
    "Degrade": "streambed.kinds.faults",
    "Experiment": "streambed.experiment.model",
    "Isolate": "streambed.kinds.faults",
    "Kafka": "streambed.kinds.components",
    "Kill": "streambed.kinds.faults",
    "Latency": "streambed.kinds.checks",
    "Link": "streambed.experiment.link",
    "NoLoss": "streambed.kinds.checks",
    "Partition": "streambed.kinds.faults",
    "Pause": "streambed.kinds.faults",
    "Producer": "streambed.kinds.components",
    "Run": "streambed.runs",
    "SparkJob": "streambed.kinds.components",
    "Topic": "streambed.kinds.components.kafka",
    "Topology": "streambed.experiment.topology",
    "Traffic": "streambed.kinds.components",
    "check": "streambed.api",
    "report": "streambed.api",
    "run": "streambed.api",
    "study": "streambed.api",
}

__all__ = [
    "Command",
    "Consumer",
    "Cut",
    "Degrade",
    "Experiment",
    "Isolate",
    "Kafka",
    "Kill",
    "Latency",
    "Link",
    "NoLoss",
    "Partition",
    "Pause",
    "Producer",
    "Run",
    "SparkJob",
    "Topic",
    "Topology",
    "Traffic",
    "check",
    "report",
    "run",
    "study",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'streambed' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
