"""Redis: a server of keys and values on a host."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from streambed import artifacts
from streambed.kinds.components.component import Needs
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.site import Site
from streambed.kinds.components.stores.server_store import OnePort, Port, server_answers
from streambed.kinds.declaring import Name, Setting, declared, setting_text
from streambed.plan import OnExit, ProcessSpec

KEPT: dict[str, Setting] = {
    "bind": "0.0.0.0",
    "protected-mode": "no",
    "save": "",
    # Each command is in the file before it is answered: whoever kills the server loses nothing.
    "appendonly": "yes",
    "appendfsync": "no",
    "aof-use-rdb-preamble": "no",
}


@declared
class Redis(OnePort):
    """Redis 6.2 on `node`, without a password; what it holds is kept in a file under the run."""

    needs: ClassVar[Needs] = ("redis",)

    kind: Literal["redis"] = "redis"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    port: Port = 6379
    setup: tuple[str, ...] = ()
    """Commands that are carried out once it answers, before others start."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of Redis's settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "fail"

    def answers(self, data: Path) -> dict[str, str]:
        """References to it."""
        return {**server_answers(self.node, self.port), "url": f"redis://{self.node}:{self.port}"}

    def processes(self, site: Site) -> list[ProcessSpec]:
        """One server."""
        home = site.data(self.name)
        settings: dict[str, Setting] = {
            **KEPT,
            **self.settings,
            "port": self.port,
            "dir": str(home),
        }
        return [
            ProcessSpec(
                name=self.name,
                component=self.name,
                node=self.node,
                argv=(
                    str(artifacts.redis_server()),
                    *(
                        word
                        for key, value in settings.items()
                        for word in (f"--{key}", setting_text(value))
                    ),
                ),
                env=site.variables(self.name, self.node, site.bootstrap_for()),
                cwd=str(home),
                on_exit=self.on_exit,
            )
        ]
