"""Servers that run now, and where to find them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from streambed.errors import suggestion
from streambed.kinds.components.component import Component
from streambed.kinds.components.plan_context import Loopback


@dataclass(frozen=True, kw_only=True)
class Server:
    """One server. Its references have the names they have in a declaration, such as `bootstrap` of
    Kafka, `url` and `jdbc` of PostgreSQL: `server.url`.
    """

    name: str
    kind: str
    port: int
    """The port for clients, on localhost."""
    references: Mapping[str, str]

    @property
    def address(self) -> str:
        """Where clients connect, as HOST:PORT."""
        return f"{Loopback.host}:{self.port}"

    def __getattr__(self, key: str) -> str:
        references: Mapping[str, str] = self.__dict__.get("references", {})
        if key in references:
            return references[key]
        raise AttributeError(f"{self.kind} has no '{key}'. {suggestion(key, references)}")

    def variables(self) -> dict[str, str]:
        """Environment variables for programs, such as KAFKA_BOOTSTRAP."""
        prefix = re.sub(r"\W", "_", self.name).upper()
        return {f"{prefix}_{key.upper()}": text for key, text in self.references.items()}


@dataclass(frozen=True, kw_only=True)
class Servers:
    """The servers by name: `servers.kafka`, or `servers["my-kafka"]`."""

    by_name: Mapping[str, Server]
    directory: Path
    """Where their data and logs are."""
    notes: tuple[str, ...] = ()
    """What differs from what was asked, for people."""

    def __iter__(self) -> Iterator[Server]:
        return iter(self.by_name.values())

    def __getitem__(self, name: str) -> Server:
        return self.by_name[name]

    def __getattr__(self, name: str) -> Server:
        servers: Mapping[str, Server] = self.__dict__.get("by_name", {})
        if name in servers:
            return servers[name]
        raise AttributeError(f"there is no server '{name}'. {suggestion(name, servers)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.by_name]

    def variables(self) -> dict[str, str]:
        """The environment variables of all servers."""
        return {key: text for server in self for key, text in server.variables().items()}


def server_of(component: Component, data: Path) -> Server:
    """Where a planned component is found."""
    return Server(
        name=component.name,
        kind=component.kind,
        port=component.ports[0],
        references=component.answers(data),
    )
