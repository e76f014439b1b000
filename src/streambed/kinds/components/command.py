"""Command: any program on a host."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from streambed.errors import Problem
from streambed.kinds.components.broker import unknown_topics
from streambed.kinds.components.component import OnOneNode, missing_folder
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.plan_context import PlanContext, reference_texts
from streambed.kinds.components.progress import DeclaredReader, Progress
from streambed.kinds.components.ready_sign import ReadySign
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Name, Names, declared
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
    writes: Names = ()
    """The topics of whose records it hands in a ledger `sent` (docs/results.md)."""
    reads: Names = ()
    """The topics of whose records it hands in a ledger `seen`."""
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
    """What it prints is shown during the run."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"
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
                "the run does not wait for a command that starts with the load or later: leave "
                "`ready` out, or let it start earlier"
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

    @property
    def topics_written(self) -> tuple[str, ...]:
        """The topics that it declares to write, for the ledger that it hands in."""
        return self.writes

    @property
    def readers(self) -> tuple[DeclaredReader, ...]:
        """Itself, if it hands in what it has seen."""
        return (DeclaredReader(name=self.name, topics=self.reads),) if self.reads else ()

    @property
    def hands_in_ledger(self) -> bool:
        """Whether it declares topics in `writes` or `reads`."""
        return bool(self.writes or self.reads)

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """The program, the folder and the topics must be there."""
        program = self.argv[0]
        wrong = missing_folder(self.cwd, base, "cwd") if self.cwd else []
        wrong += unknown_topics(self.writes, others, "writes")
        wrong += unknown_topics(self.reads, others, "reads")
        if "{" in program or shutil.which(program) or (base / program).is_file():
            return wrong
        says = f"there is no program '{program}' on PATH or beside the declaration"
        return [*wrong, Problem(key="argv", says=says)]

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """One process, with references in words and variables resolved."""
        bootstrap = context.bootstrap_for((*self.writes, *self.reads))
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
        """Whether `show` is set."""
        return self.show

    @property
    def texts(self) -> dict[str, str]:
        """The words of `argv` and the values of `env`."""
        return reference_texts("argv", self.argv, self.env)

    def progress(self, world: World) -> Progress:
        """The drain waits for the end of one that was declared to end."""
        if self.ends != "ended" or not world.find(self.name).alive:
            return Progress()
        return Progress(waits=(Wait(reason="running", reader=self.name),))

    def final_problem(self, world: World) -> str:
        """After the drain it must run or have ended, as `ends` says."""
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
            self.ready.missing_sign(world, self.node, world.directory / "logs" / f"{self.name}.log")
            if self.ready
            else lambda: ""
        )
