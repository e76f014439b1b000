"""Convert events that versions before 0.2 wrote."""

from __future__ import annotations

from typing import Any


def in_new_form(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an event as this version names them."""
    if name == "drain_incomplete":
        return {**fields, "waits": [_wait(wait) for wait in _as_list(fields.get("waits", ()))]}
    if "is" in fields:
        return {**fields, "now": fields["is"]}
    if name == "exposed" and "says" in fields:
        return {"node": "", "target_port": 0, "port": 0, **fields}
    return fields


def _wait(wait: Any) -> Any:
    """An old wait is a sentence. Sentences are never parsed, so its reason is unknown."""
    return {"reason": "unknown", "says": wait} if isinstance(wait, str) else wait


def _as_list(waits: Any) -> list[Any]:
    return list(waits) if isinstance(waits, (list, tuple)) else [waits]
