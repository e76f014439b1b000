"""Succeeds: a command ends with status 0. Lets a user's program judge what only it understands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from streambed.errors import Problem, suggestion
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.course import load_ended
from streambed.record.events import ProcessEnded
from streambed.record.history import History, Verdict

if TYPE_CHECKING:  # Checks never import a world.
    from streambed.kinds.components.command import Command


@declared
class Succeeds(MayFail):
    """The command `of`, which starts after the drain, ends with status 0.

    The verdict says the last line that it printed.
    """

    kind: Literal["succeeds"] = "succeeds"
    of: str

    def problems(self, components: Components) -> list[Problem]:
        """`of` must be a command that starts after the drain, and whose failure is recorded."""
        commands = _commands_after_drain(components)
        if self.of not in commands:
            known = suggestion(self.of, commands)
            says = f"no command with `starts: drain` is called '{self.of}'. {known}"
            return [Problem(key="of", says=says)]
        if commands[self.of].on_exit != "record":
            says = f"'{self.of}' needs `on_exit: record`: otherwise the run is over when it fails"
            return [Problem(key="of", says=says)]
        return []

    @property
    def about(self) -> str:
        """The command: verdicts are named succeeds:COMMAND."""
        return self.of

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """It needs no topic read back."""
        return ()

    def judge(self, history: History) -> Verdict:
        """Judge by the command's last exit status."""
        if not load_ended(history):
            return self._unknown("the run broke before the load ended")
        ends = [event for event in history.of(ProcessEnded) if event.component == self.of]
        if not ends or _was_stopped(ends[-1]):
            return self._unknown(f"{self.of} did not finish")
        status = ends[-1].status
        last_line = _last_line(ends[-1]) or f"status {status}, without a message"
        return Verdict(
            check=self.kind,
            answer="fails" if status else "holds",
            says=f"{self.of}: {last_line}",
            evidence={"status": status},
            brief=f"{self.of} {'failed' if status else 'succeeded'}",
        )

    def _unknown(self, says: str) -> Verdict:
        return Verdict(check=self.kind, answer="unknown", says=says)


def _was_stopped(end: ProcessEnded) -> bool:
    """Whether it was killed or asked to end, so that its status says nothing."""
    return end.status < 0 or bool(end.status and end.expected)


def _last_line(end: ProcessEnded) -> str:
    return next((line for line in reversed(end.last_lines) if line.strip()), "")


def _commands_after_drain(components: Components) -> dict[str, Command]:
    commands = [
        cast("Command", component)
        for component in components.values()
        if component.kind == "command"
    ]
    return {command.name: command for command in commands if command.starts == "drain"}
