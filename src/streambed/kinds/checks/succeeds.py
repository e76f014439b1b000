"""Succeeds: a command ended, with status 0. So a program of the user's own can judge what only it
understands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from streambed.errors import Problem, suggestion
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.course import load_ended
from streambed.record.events import ProcessEnded
from streambed.record.history import History, Verdict


@declared
class Succeeds:
    """The command `of`, which starts after the drain, ends with status 0; the last line that it
    printed is what the verdict says.
    """

    kind: Literal["succeeds"] = "succeeds"
    of: str

    def problems(self, components: Mapping[str, Any]) -> list[Problem]:
        """It must be of a command after the drain, whose failure does not end the run before it can
        be judged.
        """
        judges = {
            name: found
            for name, found in components.items()
            if found.kind == "command" and found.starts == "drain"
        }
        if self.of not in judges:
            return [
                Problem(
                    key="of",
                    says=f"no command with `starts: drain` is called '{self.of}'. {suggestion(self.of, judges)}",
                )
            ]
        if judges[self.of].on_exit != "record":
            return [
                Problem(
                    key="of",
                    says=f"'{self.of}' needs `on_exit: record`: otherwise the run is over when it fails",
                )
            ]
        return []

    @property
    def about(self) -> str:
        """The command."""
        return self.of

    def witnessed(self, components: Mapping[str, Any]) -> tuple[str, ...]:
        """It reads nothing back."""
        return ()

    def judge(self, history: History) -> Verdict:
        """By the status with which it ended."""
        if not load_ended(history):
            return Verdict(
                check=self.kind, answer="unknown", says="the run broke before the load ended"
            )
        ends = [event for event in history.of(ProcessEnded) if event.component == self.of]
        # One that was told to end, or killed, did not come to an answer of its own.
        if not ends or ends[-1].status < 0 or (ends[-1].status and ends[-1].expected):
            return Verdict(
                check=self.kind, answer="unknown", says=f"{self.of} did not come to its end"
            )
        status = ends[-1].status
        says = f"{self.of}: {_last_line(ends[-1]) or f'status {status}, without a word'}"
        return Verdict(
            check=self.kind,
            answer="fails" if status else "holds",
            says=says,
            evidence={"status": status},
        )


def _last_line(end: ProcessEnded) -> str:
    return next((line for line in reversed(end.last_lines) if line.strip()), "")
