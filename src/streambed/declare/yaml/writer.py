"""A declaration as YAML that people like to read: what is large in blocks, each component, link and
fault on its own line.
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
    """Writes None as `null`, which is easier to see than an empty value."""


_Representer.add_representer(
    type(None),
    lambda representer, _: representer.represent_scalar("tag:yaml.org,2002:null", "null"),
)


def yaml_text(content: dict[str, Any], heading: Sequence[str] = ()) -> str:
    """The text of a declaration, with a heading of comments."""
    writer = YAML()
    # Lines are never broken: a part that is too long for one has become a block already.
    writer.width = WIDTH * 10
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.Representer = _Representer
    text = StringIO()
    writer.dump(_arrange(content, ()), text)
    return "".join(f"# {line}\n" for line in heading) + text.getvalue()


def _arrange(content: Any, path: tuple[str, ...]) -> Any:
    """Blocks for the whole, for topology and components, for long components, and for the lists of
    links, faults and checks.
    """
    if isinstance(content, dict):
        mapping = CommentedMap()
        for key, value in content.items():
            mapping[key] = _arrange(value, (*path, key))
        is_component = path[:1] == ("components",) and len(path) == 2
        is_block = path in ((), ("topology",), ("components",))
        if not is_block and not (is_component and len(str(content)) > WIDTH):
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(content, list):
        sequence = CommentedSeq([_arrange(value, (*path, "")) for value in content])
        if path not in (("topology", "links"), ("faults",), ("checks",)):
            sequence.fa.set_flow_style()
        return sequence
    return content
