"""How a declaration is made: frozen data whose fields are its YAML keys."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, TypeVar, cast, dataclass_transform

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema
from pydantic.dataclasses import dataclass as pydantic_dataclass

Kind = TypeVar("Kind")
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$")]
"""What a user may call a node, a component or a topic."""
Names = Annotated[
    tuple[Name, ...],
    BeforeValidator(lambda found: (found,) if isinstance(found, str) else found),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""One name or a list of them."""
Setting = bool | int | float | str
"""The value of a setting that is passed through to a program."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(Field, field))
def declared(cls: type[Kind]) -> type[Kind]:
    """Make a class a declaration: frozen, keywords only, unknown keys refused, docstrings of fields kept for the schema."""
    config = ConfigDict(extra="forbid", use_attribute_docstrings=True)
    made: Any = pydantic_dataclass(frozen=True, kw_only=True, config=config)(cls)
    for name, known in made.__pydantic_fields__.items():  # Else a class that inherits a key would not know what it is for.
        made.__dataclass_fields__[name].metadata = {"description": known.description}
    return cast("type[Kind]", made)


def setting_text(setting: Setting) -> str:
    """A setting as programs in Java and C want it."""
    return str(setting).lower() if isinstance(setting, bool) else str(setting)
