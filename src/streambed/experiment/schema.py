"""The JSON Schema of an experiment's file, by which editors complete keys and mark mistakes."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DataclassSchema

from streambed.experiment.generators import GENERATORS
from streambed.experiment.model import Experiment
from streambed.kinds.checks import CHECKS
from streambed.kinds.components import COMPONENTS
from streambed.kinds.declaring import docstrings
from streambed.kinds.faults import FAULTS
from streambed.units import Quantity

DRAFT = "https://json-schema.org/draft/2020-12/schema"


class _Generator(GenerateJsonSchema):
    def dataclass_schema(self, schema: DataclassSchema) -> JsonSchemaValue:
        """Each key with what it is for."""
        made = super().dataclass_schema(schema)
        for name, says in docstrings(schema["cls"]).items():
            if name in made["properties"]:
                made["properties"][name]["description"] = says
        return made

    def encode_default(self, dft: Any) -> Any:
        """Defaults as a file would give them."""
        return str(dft) if isinstance(dft, Quantity) else super().encode_default(dft)


def schema() -> dict[str, Any]:
    """The schema of the YAML form, in which a component's name is its key and `kind` and `version` must be given."""
    found: dict[str, Any] = TypeAdapter(Experiment).json_schema(schema_generator=_Generator)
    definitions = found["$defs"]
    for kind in (*COMPONENTS.values(), *FAULTS.values(), *CHECKS.values(), *GENERATORS.values()):
        definition = definitions[kind.__name__]
        definition["required"] = ["kind", *definition.get("required", [])]
        if kind in COMPONENTS.values():
            del definition["properties"]["name"]
            definition["required"].remove("name")
    found["required"] = ["version", *found.get("required", [])]
    return {"$schema": DRAFT, **found, "title": "An experiment of streambed"}
