"""Consumer: reads topics as a member of a group and notes when it saw each record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from streambed.errors import Problem
from streambed.kinds.components.component import Site, unknown_topics
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.many_hosts import OnManyHosts
from streambed.kinds.components.place import Placed
from streambed.kinds.components.topics import Topics
from streambed.kinds.declaring import Name, Names, Setting, declared, setting_text
from streambed.plan import OnExit, ProcessSpec


@declared
class Consumer(OnManyHosts):
    """Reads `reads` from the earliest or the latest record on; on several hosts, as one group that shares the partitions."""

    kind: Literal["consumer"] = "consumer"
    name: Name
    node: str = ""
    """The host."""
    nodes: Names = ()
    """Several hosts in its place, each with a consumer of its own; all are of one group."""
    place: Placed = None
    """How the host or hosts are chosen if neither `node` nor `nodes` names them."""
    agents: Annotated[int, Field(ge=1, le=64)] = 4
    """The consumers of several hosts share so many processes at most; each uses the network of its own host."""
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

    @model_validator(mode="after")
    def _possible(self) -> Consumer:
        if self.node and self.nodes:
            raise ValueError("give node or nodes, not both")
        return self

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """Its topics must be declared, its hosts differ."""
        return [*unknown_topics(self.reads, others, "reads"), *self.named_twice()]

    def answers(self) -> dict[str, str]:
        """References to it."""
        return {"group": self.group or self.name}

    def processes(self, site: Site) -> list[ProcessSpec]:
        """One agent, or a few that hold the consumers of many hosts."""
        settings = {"auto.offset.reset": self.start, "isolation.level": self.isolation, **self.settings}
        group = self.group or self.name
        noted = {"keep": self.keep, "ledger": self.ledger}
        specs = []
        for name, hosts in self.groups.items():
            consumers = [self._called(host) for host in hosts]
            static = self.membership == "static"
            found = reader(site, consumers, hosts, self.reads, group=group, settings=settings, static=static, on_exit=self.on_exit, **noted)
            specs.append(
                replace(found, name=name, component=self.name, env=site.variables(self.name, hosts[0], site.bootstrap_for(self.reads)))
            )
        return specs

    def _called(self, host: str) -> str:
        """What one consumer is called in the ledger."""
        return f"{self.name}/{host}" if self.nodes else self.name


def reader(
    site: Site,
    names: Sequence[str],
    hosts: Sequence[str],
    topics: tuple[str, ...],
    *,
    group: str,
    settings: Mapping[str, Setting],
    static: bool = False,
    keep: bool = False,
    ledger: bool = True,
    on_exit: OnExit = "fail",
) -> ProcessSpec:
    """An agent that holds consumers, each on its host; an empty group makes it a witness, which reads all there is once and ends."""
    bootstrap, several = site.bootstrap_for(topics), len(hosts) > 1
    client = {
        "bootstrap.servers": bootstrap,
        "group.id": group or names[0],
        **{key: setting_text(value) for key, value in settings.items()},
    }
    consumers = [
        {"name": name, "host": host if several else "", "client": {"group.instance.id": name} if static else {}}
        for name, host in zip(names, hosts, strict=True)
    ]
    order = {"consumers": consumers, "group": group, "topics": list(topics), "keep": keep, "ledger": ledger, "client": client}
    return ProcessSpec(
        name=names[0],
        component=names[0],
        node=hosts[0],
        argv=(site.machine.python, "-m", "streambed.agents.consumer", json.dumps(order)),
        env=site.variables(names[0], hosts[0], bootstrap),
        on_exit=on_exit,
        starts="ready" if group else "drain",  # Before the servers are there it would only take the CPU that they need to start.
        networks=tuple(hosts) if several else (),
    )
