"""A declaration as YAML that people like to read: what is large in blocks, each component, link and
fault on a line of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.representer import RoundTripRepresenter

WIDTH = 130
"""What would be longer on its line becomes a block."""


class _Representer(RoundTripRepresenter):
    """Writes nothing as `null`, which stands out more than nothing at all."""


_Representer.add_representer(
    type(None),
    lambda representer, _: representer.represent_scalar("tag:yaml.org,2002:null", "null"),
)


def yaml_text(content: dict[str, Any], heading: Sequence[str] = ()) -> str:
    """The text of a declaration, with a heading of comments."""
    writer = YAML()
    writer.width = (
        WIDTH * 10
    )  # Lines are never broken: a part that is too long for one has become a block already.
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.Representer = _Representer
    text = StringIO()
    writer.dump(_arranged(content, ()), text)
    return "".join(f"# {line}\n" for line in heading) + text.getvalue()


def _arranged(found: Any, path: tuple[str, ...]) -> Any:
    """Blocks for the whole, for topology and components, for long components, and for the lists of
    links, faults and checks.
    """
    if isinstance(found, dict):
        mapping = CommentedMap(
            {key: _arranged(value, (*path, key)) for key, value in found.items()}
        )
        long = path[:1] == ("components",) and len(path) == 2 and len(str(found)) > WIDTH
        if path not in ((), ("topology",), ("components",)) and not long:
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(found, list):
        sequence = CommentedSeq([_arranged(value, (*path, "")) for value in found])
        if path not in (("topology", "links"), ("faults",), ("checks",)):
            sequence.fa.set_flow_style()
        return sequence
    return found
