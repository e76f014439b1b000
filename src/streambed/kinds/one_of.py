"""A key of a declaration that holds one of the kinds of a table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError
from pydantic_core.core_schema import no_info_plain_validator_function


class OneOf:
    """Marks a key whose value says by `kind` which kind of a table it is.

    Unlike a union of all kinds, it imports and builds only those that are declared.
    """

    def __init__(self, table: Mapping[str, type[Any]]) -> None:
        self.table = table

    def kind_of(self, value: Any) -> type[Any] | None:
        """The kind that a value names; None if it names none, or one that is not in the table."""
        word = _word_of(value)
        return self.table[word] if isinstance(word, str) and word in self.table else None

    def validate(self, value: Any) -> Any:
        """The value as an object of its kind."""
        kind = self.kind_of(value)
        if kind is None:
            raise self._unknown(value)
        return value if isinstance(value, kind) else TypeAdapter(kind).validate_python(value)

    def _unknown(self, value: Any) -> PydanticKnownError:
        """The error that pydantic gives for a union."""
        by_kind = {"discriminator": "'kind'"}
        if isinstance(value, Mapping) and "kind" not in value:
            return PydanticKnownError("union_tag_not_found", by_kind)
        if not isinstance(value, Mapping) and not hasattr(value, "kind"):
            return PydanticKnownError("model_attributes_type")
        expected = ", ".join(f"'{word}'" for word in self.table)
        tag = str(_word_of(value))
        return PydanticKnownError(
            "union_tag_invalid", {**by_kind, "tag": tag, "expected_tags": expected}
        )

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return no_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        every: Any = Annotated[reduce(or_, self.table.values()), Field(discriminator="kind")]
        return handler(TypeAdapter(every).core_schema)


def _word_of(value: Any) -> Any:
    return value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
