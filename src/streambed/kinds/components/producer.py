"""Producer: sends what files hold, or made-up records, to a topic, open loop."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from streambed.errors import Problem
from streambed.kinds.components.component import OnOneNode, Site, missing_file, missing_folder, unknown_topics, when_gauge_is_ready
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.place import Placed
from streambed.kinds.declaring import Name, Setting, declared, setting_text
from streambed.plan import OnExit, ProcessSpec
from streambed.units import Duration, Frequency, Size
from streambed.world import Missing, World


@declared
class Producer(OnOneNode):
    """Sends records at `rate` for as long as the run loads: each is due at its own time, whether or not the last one was acknowledged.

    Without a rate, `count` or `rounds` records are a burst, all due at the start; and without these too it sends as fast as its
    client takes records, each due when it is sent.
    """

    kind: Literal["producer"] = "producer"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    writes: Name
    """The topic."""
    file: str = ""
    """What it holds is sent, over and over; empty: made-up records of `size`."""
    content: Literal["lines", "whole", "folder"] = "lines"
    """What a record is: each line of the file, the whole file, or each file of a folder in the order of their names."""
    text: str = ""
    """What each record says: {record} is what is sent without it, {n} the record's number from 1, {topic} the topic."""
    key: Literal["none", "tab"] = "none"
    """tab: the text before a line's first tab is the record's key."""
    size: Size = Size(100)
    """Of each made-up record."""
    keys: Annotated[int, Field(ge=0, le=100_000_000)] = 0
    """How many different keys made-up records have; 0: no key."""
    spread: Literal["uniform", "zipf"] = "uniform"
    """How keys are drawn."""
    rate: Frequency | None = Frequency(100)
    """How often a record is due; null: a burst, or as fast as the client takes records."""
    count: Annotated[int, Field(ge=1)] | None = None
    """Stop after so many records."""
    rounds: Annotated[int, Field(ge=1)] | None = None
    """Stop when the content of `file` has been sent so many times."""
    after: Duration = Duration(0)
    """Begin so long after the start of the load."""
    acks: Literal["all", 0, 1] = "all"
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none"
    batch: Size = Size(1_000_000)
    """The largest batch."""
    linger: Duration = Duration(5e6)
    """How long a batch waits for more records."""
    idempotence: bool | None = None
    """Default: wherever acks is all."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of librdkafka's settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "fail"

    @model_validator(mode="after")
    def _possible(self) -> Producer:
        if self.rate is not None and self.rate.per_s <= 0:
            raise ValueError("rate must be above 0")
        needing = {"key: tab": self.key == "tab", f"content: {self.content}": self.content != "lines", "rounds": self.rounds is not None}
        if lacking := [key for key, asked in needing.items() if asked and not self.file]:
            raise ValueError(f"{lacking[0]} needs a file")
        if self.count is not None and self.rounds is not None:
            raise ValueError("give count or rounds, not both")
        if self.idempotence and self.acks != "all":
            raise ValueError(f"idempotence needs acks: all, not {self.acks}")
        return self

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """Its topic must be declared, its file or folder there."""
        found = unknown_topics([self.writes], others, "writes")
        if self.file and self.content != "folder":
            found += missing_file(self.file, base, "file")
        elif self.file and not any(path.is_file() for path in (base / self.file).glob("*")):
            nothing = [Problem(key="file", says=f"the folder '{self.file}' holds no file to send")]
            found += missing_folder(self.file, base, "file") or nothing
        return found

    def answers(self) -> dict[str, str]:
        """References to it."""
        return {"topic": self.writes}

    def processes(self, site: Site) -> list[ProcessSpec]:
        """One agent."""
        bootstrap = site.bootstrap_for([self.writes])
        order = {
            "producer": self.name,
            "topic": self.writes,
            "file": str(site.base / self.file) if self.file else "",
            "content": self.content,
            "text": self.text,
            "key": self.key,
            "size": self.size.bytes,
            "keys": self.keys,
            "spread": self.spread,
            "rate": self.rate.per_s if self.rate else None,
            "count": self.count,
            "rounds": self.rounds,
            "after_ns": self.after.ns,
            "duration_ns": max(0, site.duration_ns - self.after.ns),
            "client": {"bootstrap.servers": bootstrap, **self._client()},
        }
        return [
            ProcessSpec(
                name=self.name,
                component=self.name,
                node=self.node,
                argv=(site.machine.python, "-m", "streambed.agents.producer", json.dumps(order)),
                env=site.variables(self.name, self.node, bootstrap),
                on_exit=self.on_exit,
                starts="ready",
            )
        ]

    def _client(self) -> dict[str, str]:
        settings: dict[str, Setting] = {
            "acks": self.acks,
            "compression.type": self.compression,
            "batch.size": self.batch.bytes,
            "linger.ms": self.linger.ms,
            "enable.idempotence": self.acks == "all" if self.idempotence is None else self.idempotence,
            **self.settings,
        }
        return {key: setting_text(setting) for key, setting in settings.items()}

    def readiness(self, world: World) -> Missing:
        """Ready when it knows the topic's partitions."""
        return when_gauge_is_ready(world, self.name)
