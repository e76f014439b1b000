"""The JSON Schema of an experiment's file, by which editors complete keys and mark mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DataclassSchema

from streambed.declare.experiment import Experiment
from streambed.declare.generators import GENERATORS
from streambed.kinds.check_table import CHECKS
from streambed.kinds.declaring import docstrings
from streambed.kinds.tables import COMPONENTS, FAULTS
from streambed.units import Quantity

DRAFT = "https://json-schema.org/draft/2020-12/schema"


class _Generator(GenerateJsonSchema):
    def dataclass_schema(self, schema: DataclassSchema) -> JsonSchemaValue:
        """Describe each key by its docstring."""
        made = super().dataclass_schema(schema)
        for name, says in docstrings(schema["cls"]).items():
            if name in made["properties"]:
                made["properties"][name]["description"] = says
        return made

    def encode_default(self, dft: Any) -> Any:
        """Defaults as a file would give them."""
        return str(dft) if isinstance(dft, Quantity) else super().encode_default(dft)


def _definitions(schema: dict[str, Any], kinds: Mapping[str, type]) -> list[dict[str, Any]]:
    """The definition of each of these kinds. Classes of two packages may have the same name, so it
    is found by `kind` and title.
    """
    titles = {(kind, declared.__name__) for kind, declared in kinds.items()}
    definitions = [
        each for each in schema["$defs"].values() if "kind" in each.get("properties", {})
    ]
    return [
        each
        for each in definitions
        if (each["properties"]["kind"].get("const"), each.get("title")) in titles
    ]


def schema() -> dict[str, Any]:
    """The schema of the YAML form, in which a component's name is its key and `kind` and `version`
    must be given.
    """
    schema_of_experiment: dict[str, Any] = TypeAdapter(Experiment).json_schema(
        schema_generator=_Generator
    )
    for kinds in (COMPONENTS, FAULTS, CHECKS, GENERATORS):
        for definition in _definitions(schema_of_experiment, kinds):
            definition["required"] = ["kind", *definition.get("required", [])]
            if kinds is COMPONENTS:
                del definition["properties"]["name"]
                definition["required"].remove("name")
    schema_of_experiment["required"] = ["version", *schema_of_experiment.get("required", [])]
    return {"$schema": DRAFT, **schema_of_experiment, "title": "An experiment of streambed"}
