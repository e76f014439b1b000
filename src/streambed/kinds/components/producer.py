"""Producer: sends a file's lines or made-up records to a topic, open loop."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from streambed.errors import Problem
from streambed.kinds.components.component import OnOneNode, Site, missing_file, unknown_topics, when_gauge_is_ready
from streambed.kinds.declaring import Name, Setting, declared, setting_text
from streambed.plan import OnExit, ProcessSpec
from streambed.units import Duration, Frequency, Size
from streambed.world import Missing, World


@declared
class Producer(OnOneNode):
    """Sends records at `rate` for as long as the run loads: each is due at its own time, whether or not the last one was acknowledged."""

    kind: Literal["producer"] = "producer"
    name: Name
    node: str
    writes: Name
    """The topic."""
    file: str = ""
    """Its lines are the records, over and over; empty: made-up records of `size`."""
    key: Literal["none", "tab"] = "none"
    """tab: the text before a line's first tab is the record's key."""
    size: Size = Size(100)
    """Of each made-up record."""
    keys: Annotated[int, Field(ge=0, le=100_000_000)] = 0
    """How many different keys made-up records have; 0: no key."""
    spread: Literal["uniform", "zipf"] = "uniform"
    """How keys are drawn."""
    rate: Frequency = Frequency(100)
    count: Annotated[int, Field(ge=1)] | None = None
    """Stop after so many records."""
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
    on_exit: OnExit = "fail"

    @model_validator(mode="after")
    def _possible(self) -> Producer:
        if self.rate.per_s <= 0:
            raise ValueError("rate must be above 0")
        if self.key == "tab" and not self.file:
            raise ValueError("key: tab needs a file")
        if self.idempotence and self.acks != "all":
            raise ValueError(f"idempotence needs acks: all, not {self.acks}")
        return self

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """Its topic must be declared, its file there."""
        return unknown_topics([self.writes], others, "writes") + (missing_file(self.file, base, "file") if self.file else [])

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
            "key": self.key,
            "size": self.size.bytes,
            "keys": self.keys,
            "spread": self.spread,
            "rate": self.rate.per_s,
            "count": self.count,
            "duration_ns": site.duration_ns,
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
