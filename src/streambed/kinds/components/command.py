"""Command: any program on a host."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from streambed.errors import Problem
from streambed.kinds.components.component import OnOneNode, missing_folder, reference_texts
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.components.progress import Progress
from streambed.kinds.components.ready_sign import ReadySign
from streambed.kinds.declaring import Name, declared
from streambed.plan import OnExit, ProcessSpec
from streambed.record.events import Wait
from streambed.world import Missing, World


@declared
class Command(OnOneNode):
    """Runs `argv` on `node`: as a server from the start, once the servers answer, when the load
    begins, or after the drain.

    `argv` and `env` may refer to the world.
    """

    kind: Literal["command"] = "command"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    argv: Annotated[tuple[str, ...], Field(min_length=1)]
    """The program and its arguments; no shell comes between."""
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str = ""
    """The folder that it runs in; default: that of the declaration."""
    starts: Literal["start", "ready", "load", "drain"] = "ready"
    """When it is started: at once, so that others wait for it; as soon as all servers answer; when
    the load begins; or after all have caught up, and then the run waits for its end.
    """
    ready: ReadySign | None = None
    """What tells that it is ready; default: that it was started."""
    ends: Literal["any", "running", "ended"] = "any"
    """How it must be when the load is over and drained: still running, or ended; otherwise the run
    fails.
    """
    show: bool = False
    """What it prints is shown while the run goes on."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "fail"
    """What an exit with a status other than 0 means: the run fails, it is recorded, or the program
    is started again.
    """

    any_group: ClassVar[bool] = True
    may_write_more: ClassVar[bool] = True
    box_reason: ClassVar[str] = ""

    @model_validator(mode="after")
    def _possible(self) -> Command:
        if self.ready and self.starts in ("load", "drain"):
            raise ValueError(
                "nobody waits for a command that starts with the load or later: leave `ready` out, "
                "or let it start earlier"
            )
        if self.ends != "any" and self.starts == "drain":
            raise ValueError(
                "the run waits for the end of a command that starts after the drain: leave `ends` "
                "out"
            )
        return self

    @property
    def server(self) -> bool:
        """Others wait for it if it starts first."""
        return self.starts == "start"

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """The program and the folder must be there."""
        program = self.argv[0]
        found = missing_folder(self.cwd, base, "cwd") if self.cwd else []
        if "{" in program or shutil.which(program) or (base / program).is_file():
            return found
        return [
            *found,
            Problem(
                key="argv",
                says=f"there is no program '{program}' on PATH or beside the declaration",
            ),
        ]

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """Just that program."""
        bootstrap = context.bootstrap_for()
        argv = tuple(context.resolve(word, self.name) for word in self.argv)
        env = {key: context.resolve(text, self.name) for key, text in self.env.items()}
        return [
            ProcessSpec(
                name=self.name,
                component=self.name,
                node=self.node,
                argv=argv,
                env={**context.variables(self.name, self.node, bootstrap), **env},
                cwd=str(context.base / self.cwd),
                on_exit=self.on_exit,
                starts=self.starts,
            )
        ]

    @property
    def shows_output(self) -> bool:
        """If that is asked for."""
        return self.show

    @property
    def texts(self) -> dict[str, str]:
        """Its words and variables."""
        return reference_texts("argv", self.argv, self.env)

    def progress(self, world: World) -> Progress:
        """The drain waits for the end of one that was declared to end."""
        if self.ends != "ended" or not world.find(self.name).alive:
            return Progress()
        return Progress(waits=(Wait(reason="running", reader=self.name),))

    def final_problem(self, world: World) -> str:
        """It must be as `ends` says."""
        process = world.find(self.name)
        if self.ends != ("ended" if process.alive else "running"):
            return ""
        state = "still runs" if process.alive else "has ended"
        last = "".join(f"\n  | {line}" for line in process.last_lines())
        return (
            f"{self.name} on {self.node} {state} after the drain, but the declaration says `ends: "
            f"{self.ends}`. "
            f"Its last lines (all in {process.log}):{last}"
        )

    def readiness(self, world: World) -> Missing:
        """Ready when its sign is seen; without one as soon as it has been started."""
        return (
            self.ready.awaited(world, self.node, world.directory / "logs" / f"{self.name}.log")
            if self.ready
            else lambda: ""
        )
