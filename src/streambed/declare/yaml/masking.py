"""The text of a declaration without its secrets, for people to read."""

from __future__ import annotations

from collections.abc import Iterator

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from streambed.record.secrets import MASK, holds_secret, is_secret_option, masked_text

QUOTED = f'"{MASK}"'
"""Without quotes, YAML would take it for an alias."""


def masked_declaration(text: str) -> str:
    """A YAML text with `"******"` for each value of a key that looks like a secret. Comments and
    layout stay.
    """
    try:
        nodes = list(YAML(typ="safe", pure=True).compose_all(text))
    except (YAMLError, RecursionError):
        return masked_text(text)
    masking = _Masking(text)
    for node in nodes:
        if node is not None:
            masking.visit(node, secret=False)
    return masking.text()


class _Masking:
    """The replacement of each scalar, by its position."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._by_span: dict[tuple[int, int], str] = {}
        self._visited: set[tuple[int, bool]] = set()

    def visit(self, node: Node, *, secret: bool) -> None:
        """Mask a node: all of it, or only what looks like a secret."""
        if (id(node), secret) in self._visited:
            return  # An alias, which may even contain itself.
        self._visited.add((id(node), secret))
        if isinstance(node, ScalarNode):
            self._mask(node, secret=secret)
            return
        for below, is_hidden in _below(node):
            self.visit(below, secret=secret or is_hidden)

    def _mask(self, node: ScalarNode, *, secret: bool) -> None:
        span = (node.start_mark.index, node.end_mark.index)
        written = self._text[slice(*span)]
        if not secret:
            self._by_span.setdefault(span, masked_text(written))
        elif node.value:
            anchor = f"&{node.anchor} " if node.anchor else ""
            self._by_span[span] = f"{anchor}{QUOTED}" + "\n" * written.endswith("\n")

    def text(self) -> str:
        """The text with every secret masked."""
        parts, end = [], 0
        for (begins, ends), masked in sorted(self._by_span.items()):
            parts += [self._text[end:begins], masked]
            end = ends
        return "".join(parts) + self._text[end:]


def _below(node: Node) -> Iterator[tuple[Node, bool]]:
    """The values inside a mapping or a list, and whether each is a secret."""
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield value, isinstance(key, ScalarNode) and holds_secret(str(key.value))
    elif isinstance(node, SequenceNode):
        after_option = False
        for item in node.value:
            yield item, after_option
            after_option = isinstance(item, ScalarNode) and is_secret_option(item.value)
