"""Redis: a key-value server."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from streambed import artifacts
from streambed.errors import Problem
from streambed.kinds.components.component import Needs
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.components.stores.server_store import OnePort, server_answers
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Name, Port, Setting, declared, setting_text
from streambed.plan import OnExit, ProcessSpec
from streambed.record.secrets import is_secret

DURABLE: dict[str, Setting] = {
    "bind": "0.0.0.0",
    "protected-mode": "no",
    "save": "",
    # Each command is in the file before it is answered, so that a killed server loses nothing.
    "appendonly": "yes",
    "appendfsync": "no",
    "aof-use-rdb-preamble": "no",
}


@declared
class Redis(OnePort):
    """Redis 6.2 on `node`, without a password. Its data survive a kill."""

    needs: ClassVar[Needs] = ("redis",)
    listens_on: ClassVar[str] = "bind"

    kind: Literal["redis"] = "redis"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    port: Port = 6379
    setup: tuple[str, ...] = ()
    """Commands to run once it answers, before the components that use it start."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of Redis's settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"
    syncs_by: ClassVar[tuple[str, Setting]] = ("appendfsync", "always")

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """Passwords: streambed's own clients have none, and every user sees a command line."""
        says = "clients log in without a password here: leave it out"
        return [
            Problem(key=f"settings.{key}", says=says) for key in self.settings if is_secret(key)
        ]

    def answers(self, data: Path) -> dict[str, str]:
        """The usual references and {NAME.url}."""
        return {**server_answers(self.node, self.port), "url": f"redis://{self.node}:{self.port}"}

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """One server."""
        settings: dict[str, Setting] = {
            **DURABLE,
            **self.settings,
            "port": self.port,
            "dir": str(context.data(self.name)),
        }
        argv = [str(artifacts.redis_server())]
        for key, setting in settings.items():
            argv += [f"--{key}", setting_text(setting)]
        return [self.server_process(context, argv)]
