"""streambed: a test bed for streams.

Declare an application and the network it runs on, run it, judge it:

    import streambed
    from streambed import Consumer, Experiment, Kafka, Link, NoLoss, Producer, Topology

    topology = Topology(links=[...])
    experiment = Experiment(name="first", duration="10s", topology=topology, components=[...])
    run = streambed.run(experiment)
    streambed.check(run)
    run.ledger().sent

Every kind of component, fault, check and generator is a public name, taken from its table.
Names are loaded when first used: agents import this package on every host and must start fast.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from streambed.api import check as check
    from streambed.api import report as report
    from streambed.api import run as run
    from streambed.api import study as study
    from streambed.api import up as up
    from streambed.declare.expansion import generated as generated
    from streambed.declare.experiment import Experiment as Experiment
    from streambed.declare.generators import *  # noqa: F403
    from streambed.declare.link import Link as Link
    from streambed.declare.topology import Topology as Topology
    from streambed.kinds.checks import *  # noqa: F403
    from streambed.kinds.components import *  # noqa: F403
    from streambed.kinds.components.kafka.topic import Topic as Topic
    from streambed.kinds.faults import *  # noqa: F403
    from streambed.record.handed_in import hand_in as hand_in
    from streambed.results.runs import Run as Run

_TABLES = {
    "streambed.declare.generators": "GENERATORS",
    "streambed.kinds.checks": "CHECKS",
    "streambed.kinds.components": "COMPONENTS",
    "streambed.kinds.faults": "FAULTS",
}
_OTHERS = {
    "Experiment": "streambed.declare.experiment",
    "Link": "streambed.declare.link",
    "Run": "streambed.results.runs",
    "Topic": "streambed.kinds.components.kafka.topic",
    "Topology": "streambed.declare.topology",
    "check": "streambed.api",
    "generated": "streambed.declare.expansion",
    "hand_in": "streambed.record.handed_in",
    "report": "streambed.api",
    "run": "streambed.api",
    "study": "streambed.api",
    "up": "streambed.api",
}


if not TYPE_CHECKING:  # With it in sight, mypy would take any misspelt name for Any.

    def __getattr__(name: str) -> Any:
        if name in _OTHERS:
            return getattr(importlib.import_module(_OTHERS[name]), name)
        if name == "__all__":
            return sorted([*_OTHERS, *_kinds()])
        if name == "__version__":
            return importlib.import_module("importlib.metadata").version("streambed")
        # Python asks here for submodules, too. These are lower case, and must load no table.
        if name[:1].isupper() and name in (kinds := _kinds()):
            return kinds[name]
        raise AttributeError(f"module 'streambed' has no attribute '{name}'")


def __dir__() -> Iterable[str]:
    """What Tab shows: the public names, and none that this module only needs itself."""
    return sorted({*_OTHERS, *_kinds(), "__all__", "__doc__", "__version__"})


def _kinds() -> dict[str, type[Any]]:
    """Every class of the tables, by its name."""
    kinds: dict[str, type[Any]] = {}
    for module, table in _TABLES.items():
        for kind in getattr(importlib.import_module(module), table).values():
            kinds[kind.__name__] = kind
    return kinds
