"""MongoDB: a server of documents on a host, whose program must be on PATH."""

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


@declared
class MongoDB(OnePort):
    """A `mongod` of the machine on `node`, without a password."""

    needs: ClassVar[Needs] = ("mongodb",)
    database: ClassVar[str] = "streambed"
    kind: Literal["mongodb"] = "mongodb"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    port: Port = 27017
    setup: tuple[str, ...] = ()
    """Commands, each a JSON document, that are carried out once it answers, before others start."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of mongod's options, without the hyphens in front."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "fail"

    def answers(self, data: Path) -> dict[str, str]:
        """References to it."""
        return {
            **server_answers(self.node, self.port),
            "url": f"mongodb://{self.node}:{self.port}/{self.database}",
        }

    def processes(self, site: Site) -> list[ProcessSpec]:
        """One server."""
        home = site.data(self.name)
        settings: dict[str, Setting] = {
            **self.settings,
            "bind_ip_all": True,
            "port": self.port,
            "dbpath": str(home),
        }
        options = [
            f"--{key}" if value is True else f"--{key}={setting_text(value)}"
            for key, value in settings.items()
        ]
        return [
            ProcessSpec(
                name=self.name,
                component=self.name,
                node=self.node,
                argv=(str(artifacts.mongod()), *options),
                env=site.variables(self.name, self.node, site.bootstrap_for()),
                cwd=str(home),
                on_exit=self.on_exit,
            )
        ]
