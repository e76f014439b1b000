"""What a check is to the rest of streambed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from streambed.errors import Problem
from streambed.history import History, Verdict


class Check(Protocol):
    """Something that must hold; judging is pure and can be done again years later."""

    @property
    def kind(self) -> str:
        """Its key in the table of kinds."""

    def problems(self, components: Mapping[str, Any]) -> list[Problem]:
        """What is wrong with it beside the declared components; keys relative to the check."""

    def witnessed(self, declaration: Mapping[str, Any]) -> tuple[str, ...]:
        """The topics that the witness must read back for it, given the declaration that the plan keeps."""

    def judge(self, history: History) -> Verdict:
        """Holds, fails or unknown; an empty history never holds."""
