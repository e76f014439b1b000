"""Secrets among Spark's settings: in a file, because every user of a machine sees command lines."""

from __future__ import annotations

from collections.abc import Mapping

from streambed.plan import PlannedFile
from streambed.record.secrets import is_secret


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that a command line may show."""
    return {key: value for key, value in settings.items() if not is_secret(key)}


def secret_files(settings: Mapping[str, str], path: str) -> tuple[PlannedFile, ...]:
    """A file of properties with the other settings; none if there are no others."""
    lines = [f"{key}={_escape(value)}\n" for key, value in settings.items() if is_secret(key)]
    return (PlannedFile(path=path, text="".join(lines), private=True),) if lines else ()


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")
