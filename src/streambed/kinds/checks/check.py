"""What a check is to the rest of streambed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from streambed.errors import Problem
from streambed.record.history import History, Verdict


class Check(Protocol):
    """Something that must hold; judging is pure and can be done again years later."""

    @property
    def kind(self) -> str:
        """Its key in the table of kinds."""

    @property
    def about(self) -> str:
        """What it is about: the topic, component or command. A verdict is known by kind and this,
        as latency:reader.
        """

    def problems(self, components: Mapping[str, Any]) -> list[Problem]:
        """What is wrong with it beside the declared components; keys relative to the check."""

    def witnessed(self, components: Mapping[str, Any]) -> tuple[str, ...]:
        """The topics that must be read back for it after the drain, given the declared
        components.
        """

    def judge(self, history: History) -> Verdict:
        """Holds, fails or unknown; an empty history never holds."""
