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
    from streambed.declare.expansion import generated
    from streambed.declare.experiment import Experiment
    from streambed.declare.generators import (
        Cities,
        FatTree,
        GraphmlNetwork,
        Line,
        Mesh,
        Random,
        Ring,
        Star,
        Tree,
    )
    from streambed.declare.link import Link
    from streambed.declare.topology import Topology
    from streambed.kinds.checks import Latency, NoLoss, Succeeds
    from streambed.kinds.components import (
        Cassandra,
        Command,
        Consumer,
        Embedded,
        Hdfs,
        Kafka,
        MariaDB,
        MongoDB,
        PostgreSQL,
        Producer,
        Redis,
        Sink,
        SparkCluster,
        SparkJob,
        Traffic,
    )
    from streambed.kinds.components.kafka.topic import Topic
    from streambed.kinds.faults import Cut, Degrade, Isolate, Kill, Partition, Pause
    from streambed.results.runs import Run

_HOMES = {
    "Cassandra": "streambed.kinds.components",
    "Cities": "streambed.declare.generators",
    "Command": "streambed.kinds.components",
    "Consumer": "streambed.kinds.components",
    "Cut": "streambed.kinds.faults",
    "Degrade": "streambed.kinds.faults",
    "Embedded": "streambed.kinds.components",
    "Experiment": "streambed.declare.experiment",
    "FatTree": "streambed.declare.generators",
    "GraphmlNetwork": "streambed.declare.generators",
    "Hdfs": "streambed.kinds.components",
    "Isolate": "streambed.kinds.faults",
    "Kafka": "streambed.kinds.components",
    "Kill": "streambed.kinds.faults",
    "Latency": "streambed.kinds.checks",
    "Line": "streambed.declare.generators",
    "Link": "streambed.declare.link",
    "MariaDB": "streambed.kinds.components",
    "Mesh": "streambed.declare.generators",
    "MongoDB": "streambed.kinds.components",
    "NoLoss": "streambed.kinds.checks",
    "Partition": "streambed.kinds.faults",
    "Pause": "streambed.kinds.faults",
    "PostgreSQL": "streambed.kinds.components",
    "Producer": "streambed.kinds.components",
    "Random": "streambed.declare.generators",
    "Redis": "streambed.kinds.components",
    "Ring": "streambed.declare.generators",
    "Run": "streambed.results.runs",
    "Sink": "streambed.kinds.components",
    "SparkCluster": "streambed.kinds.components",
    "SparkJob": "streambed.kinds.components",
    "Star": "streambed.declare.generators",
    "Succeeds": "streambed.kinds.checks",
    "Topic": "streambed.kinds.components.kafka.kafka",
    "Topology": "streambed.declare.topology",
    "Traffic": "streambed.kinds.components",
    "Tree": "streambed.declare.generators",
    "check": "streambed.api",
    "generated": "streambed.declare.expansion",
    "report": "streambed.api",
    "run": "streambed.api",
    "study": "streambed.api",
}

__all__ = [
    "Cassandra",
    "Cities",
    "Command",
    "Consumer",
    "Cut",
    "Degrade",
    "Embedded",
    "Experiment",
    "FatTree",
    "GraphmlNetwork",
    "Hdfs",
    "Isolate",
    "Kafka",
    "Kill",
    "Latency",
    "Line",
    "Link",
    "MariaDB",
    "Mesh",
    "MongoDB",
    "NoLoss",
    "Partition",
    "Pause",
    "PostgreSQL",
    "Producer",
    "Random",
    "Redis",
    "Ring",
    "Run",
    "Sink",
    "SparkCluster",
    "SparkJob",
    "Star",
    "Succeeds",
    "Topic",
    "Topology",
    "Traffic",
    "Tree",
    "check",
    "generated",
    "report",
    "run",
    "study",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'streambed' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
