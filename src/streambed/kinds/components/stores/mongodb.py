"""MongoDB: a document server. Its program, `mongod`, must be on PATH."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from streambed import artifacts
from streambed.kinds.components.component import Needs
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.components.stores.server_store import OnePort, server_answers
from streambed.kinds.declaring import Name, Port, Setting, declared, setting_text
from streambed.plan import OnExit, ProcessSpec


@declared
class MongoDB(OnePort):
    """The machine's own `mongod` on `node`, without a password."""

    needs: ClassVar[Needs] = ("mongodb",)
    database: ClassVar[str] = "streambed"
    listens_on: ClassVar[str] = "bind_ip"
    kind: Literal["mongodb"] = "mongodb"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    port: Port = 27017
    setup: tuple[str, ...] = ()
    """Commands, each a JSON document, to run once it answers, before its users start."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of mongod's options, without the hyphens in front."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"

    def answers(self, data: Path) -> dict[str, str]:
        """The usual references and {NAME.url}."""
        return {
            **server_answers(self.node, self.port),
            "url": f"mongodb://{self.node}:{self.port}/{self.database}",
        }

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """One server."""
        settings: dict[str, Setting] = {
            **self.settings,
            **({} if self.listens_on in self.settings else {"bind_ip_all": True}),
            "port": self.port,
            "dbpath": str(context.data(self.name)),
        }
        options = [
            f"--{key}" if setting is True else f"--{key}={setting_text(setting)}"
            for key, setting in settings.items()
        ]
        return [self.server_process(context, (str(artifacts.mongod()), *options))]
