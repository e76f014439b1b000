"""How a declaration is made: frozen data whose fields are its YAML keys."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from dataclasses import field
from typing import Annotated, Any, TypeVar, cast, dataclass_transform

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema
from pydantic.dataclasses import dataclass as pydantic_dataclass

Kind = TypeVar("Kind")
NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""What a user may call a component or a topic."""
WORD_PATTERN = r"^[A-Za-z][A-Za-z0-9_]{0,47}$"
Word = Annotated[str, StringConstraints(pattern=WORD_PATTERN)]
"""What a user may call a table or a column: a name that needs no quotes in any store."""
Names = Annotated[
    tuple[Name, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""One name or a list of them."""
Port = Annotated[int, Field(ge=1, le=65535)]
"""The number of a TCP port."""
Setting = bool | int | float | str
"""The value of a setting that is passed through to a program."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(Field, field))
def declared(cls: type[Kind]) -> type[Kind]:
    """Make a class a declaration: frozen, keywords only, unknown keys refused."""
    made: Any = pydantic_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))(
        cls
    )
    return cast("type[Kind]", made)


def docstrings(cls: type) -> dict[str, str]:
    """What the fields of a declaration are for, those that it inherits included; out of its source,
    which takes a while.
    """
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if "__annotations__" not in vars(base) or base.__module__ == "builtins":
            continue
        for statement, following in itertools.pairwise(_body_of(base)):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                field_name = statement.target.id
                texts.pop(field_name, None)  # Declared again, it is something else.
                if text := _docstring_of(following):
                    texts[field_name] = text
    return texts


def _docstring_of(statement: ast.stmt) -> str:
    """The text of a statement that is nothing but a string; else nothing."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        text = statement.value.value
        return inspect.cleandoc(text) if isinstance(text, str) else ""
    return ""


def _body_of(cls: type) -> list[ast.stmt]:
    """The statements of a class; none if its source is not there."""
    try:
        module = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except OSError:
        return []
    (body,) = (node.body for node in module.body if isinstance(node, ast.ClassDef))
    return body


def setting_text(setting: Setting) -> str:
    """A setting as programs in Java and C want it."""
    return str(setting).lower() if isinstance(setting, bool) else str(setting)
