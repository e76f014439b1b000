"""Command: any program on a host."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from streambed.errors import Problem
from streambed.kinds.components.component import OnOneNode, Site, missing_folder
from streambed.kinds.declaring import Name, declared
from streambed.plan import OnExit, ProcessSpec
from streambed.world import Missing, World


@declared
class Command(OnOneNode):
    """Runs `argv` on `node` once the servers answer, or when the load begins; `argv` and `env` may refer to the world."""

    kind: Literal["command"] = "command"
    name: Name
    node: str
    argv: Annotated[tuple[str, ...], Field(min_length=1)]
    """The program and its arguments; no shell comes between."""
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str = ""
    """The folder that it runs in; default: that of the declaration."""
    starts: Literal["ready", "load"] = "ready"
    """When it is started: as soon as all servers answer, or when everybody is ready and the load begins."""
    on_exit: OnExit = "fail"
    """What an exit with a status other than 0 means: the run fails, it is recorded, or the program is started again."""

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """The program and the folder must be there."""
        program = self.argv[0]
        found = missing_folder(self.cwd, base, "cwd") if self.cwd else []
        if "{" in program or shutil.which(program) or (base / program).is_file():
            return found
        return [*found, Problem(key="argv", says=f"there is no program '{program}' on PATH or beside the declaration")]

    def processes(self, site: Site) -> list[ProcessSpec]:
        """Just that program."""
        bootstrap = site.bootstrap_for()
        argv = tuple(site.resolve(word, self.name) for word in self.argv)
        env = {key: site.resolve(text, self.name) for key, text in self.env.items()}
        return [
            ProcessSpec(
                name=self.name,
                component=self.name,
                node=self.node,
                argv=argv,
                env={**site.variables(self.name, self.node, bootstrap), **env},
                cwd=str(site.base / self.cwd),
                on_exit=self.on_exit,
                starts=self.starts,
            )
        ]

    def readiness(self, world: World) -> Missing:
        """Ready as soon as it has been started: nothing is known of its protocol."""
        return lambda: ""
