"""Consumer: reads topics as a member of a group and notes when it saw each record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from streambed.errors import Problem
from streambed.kinds.components.component import OnOneNode, Site, unknown_topics, when_gauge_is_ready
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.place import Placed
from streambed.kinds.components.topics import Topics
from streambed.kinds.declaring import Name, Setting, declared, setting_text
from streambed.plan import OnExit, ProcessSpec
from streambed.world import Missing, World


@declared
class Consumer(OnOneNode):
    """Reads `reads` from the earliest or the latest record on."""

    kind: Literal["consumer"] = "consumer"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    reads: Annotated[Topics, Field(min_length=1)]
    """A topic or several."""
    group: str = ""
    """Consumers of one group share the partitions; default: a group of its own."""
    membership: Literal["dynamic", "static"] = "dynamic"
    """static: it is known to its group by name (group.instance.id), and keeps its partitions while it is away for a short time."""
    start: Literal["earliest", "latest"] = "earliest"
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed"
    """Whether records of transactions that are open or were aborted are left out."""
    keep: bool = False
    """Keep keys and values too: `run.records()` gives them."""
    ledger: bool = True
    """Note every record; without that, checks can say nothing of it."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of librdkafka's settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "fail"

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """Its topics must be declared."""
        return unknown_topics(self.reads, others, "reads")

    def answers(self) -> dict[str, str]:
        """References to it."""
        return {"group": self.group or self.name}

    def processes(self, site: Site) -> list[ProcessSpec]:
        """One agent."""
        known = {"group.instance.id": self.name} if self.membership == "static" else {}
        settings = {"auto.offset.reset": self.start, "isolation.level": self.isolation, **known, **self.settings}
        group = self.group or self.name
        noted = {"keep": self.keep, "ledger": self.ledger}
        return [reader(site, self.name, self.node, self.reads, group=group, settings=settings, on_exit=self.on_exit, **noted)]

    def readiness(self, world: World) -> Missing:
        """Ready when it has been given its partitions."""
        return when_gauge_is_ready(world, self.name)


def reader(
    site: Site,
    name: str,
    node: str,
    topics: tuple[str, ...],
    *,
    group: str,
    settings: Mapping[str, Setting],
    keep: bool = False,
    ledger: bool = True,
    on_exit: OnExit = "fail",
) -> ProcessSpec:
    """A consumer agent; an empty group makes it a witness, which reads everything there is once and ends."""
    bootstrap = site.bootstrap_for(topics)
    client = {"bootstrap.servers": bootstrap, "group.id": group or name, **{key: setting_text(value) for key, value in settings.items()}}
    order = {"consumer": name, "group": group, "topics": list(topics), "keep": keep, "ledger": ledger, "client": client}
    return ProcessSpec(
        name=name,
        component=name,
        node=node,
        argv=(site.machine.python, "-m", "streambed.agents.consumer", json.dumps(order)),
        env=site.variables(name, node, bootstrap),
        on_exit=on_exit,
        starts="ready" if group else "drain",  # Before the servers are there it would only take the CPU that they need to start.
    )
