"""Topics of a declaration: one name or a list of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from streambed.kinds.declaring import Name


def _several(found: Any) -> Any:
    return (found,) if isinstance(found, str) else found


Topics = Annotated[
    tuple[Name, ...],
    BeforeValidator(_several),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
