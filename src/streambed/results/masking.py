"""Mask secrets in what a run recorded, before it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from streambed.record.events import Event
from streambed.record.history import History, Verdict
from streambed.record.secrets import MASK, masked_text, masked_value, secret_values

SHORTEST = 4
"""A shorter secret is not searched for: it would be found inside other words."""
FREE_TEXT = ("says", "reason", "last_lines")
"""Fields of events that may quote what a program printed."""


@dataclass(frozen=True, kw_only=True)
class Mask:
    """Hides what looks like a secret, and what the declaration holds as one, wherever it occurs."""

    secrets: tuple[str, ...]

    @classmethod
    def of(cls, declaration: Mapping[str, Any]) -> Mask:
        """The mask for the secrets of a run's declaration."""
        secrets = {word for word in secret_values(declaration) if len(word) >= SHORTEST}
        return cls(secrets=tuple(sorted(secrets, key=len, reverse=True)))

    def text(self, text: str) -> str:
        """A text without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        return masked_text(text)

    def value(self, name: str, value: Any) -> Any:
        """The value of a name without secrets, at every depth."""
        if isinstance(value, str):
            return masked_value(name, self.text(value))
        if isinstance(value, Mapping):
            return {key: self.value(str(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.value(name, item) for item in value)
        return value

    def history(self, history: History) -> History:
        """A history whose events quote no secret."""
        return replace(history, events=tuple(self.event(event) for event in history.events))

    def event(self, event: Event) -> Event:
        """An event that quotes no secret."""
        names = [field.name for field in fields(event) if field.name in FREE_TEXT]
        masked = {name: self.value(name, getattr(event, name)) for name in names}
        return replace(event, **masked) if masked else event

    def verdicts(self, verdicts: Iterable[Verdict]) -> list[Verdict]:
        """Verdicts that quote no secret."""
        return [
            replace(
                verdict,
                says=self.text(verdict.says),
                brief=self.text(verdict.brief),
                evidence=self.value("", verdict.evidence),
            )
            for verdict in verdicts
        ]
