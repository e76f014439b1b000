"""What a check is to the rest of streambed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from streambed.errors import Problem
from streambed.record.history import History, Verdict


class Check(Protocol):
    """A property that must hold. Judging is pure: an old run can be judged again."""

    @property
    def kind(self) -> str:
        """Its key in the table of kinds."""

    @property
    def about(self) -> str:
        """The topic, component or command that it judges: the second half of a verdict's name, as
        in latency:reader.
        """

    def problems(self, components: Mapping[str, Any]) -> list[Problem]:
        """What is wrong with the declaration; keys are relative to the check."""

    def witnessed(self, components: Mapping[str, Any]) -> tuple[str, ...]:
        """The topics that the witness must read back after the drain."""

    def judge(self, history: History) -> Verdict:
        """Answer holds, fails or unknown. An empty history never holds."""
