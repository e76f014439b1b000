"""A YAML text as plain content that remembers where each key and each value stood."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path as File
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StringMark, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from streambed.declare.yaml.keys import Path, dotted_key
from streambed.declare.yaml.source import Position, text_of
from streambed.errors import DeclarationError, Problem

VALUES_MAX = 1_000_000
ALIASED_MAX = 100_000
"""How many values aliases may add: they can make a short text unfold into a very long one."""
_MERGE = "tag:yaml.org,2002:merge"


@dataclass
class Document:
    """What a text says, and where."""

    content: Any = None
    keys: dict[str, Position] = field(default_factory=dict)
    values: dict[str, Position] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What its reader should know about how it was understood."""

    def problem(self, key: str, says: str) -> Problem:
        """A problem of this document, with its place."""
        return self.locate(Problem(key=key, says=says))

    def locate(self, problem: Problem, *, at_key: bool = False) -> Problem:
        """The problem with its place: that of its key, or of the nearest key above it that was
        written.
        """
        known = self.keys if at_key else self.values
        written = problem.key
        while written and written not in known:
            known = self.keys
            written = written.rpartition(".")[0]
        place = known.get(written, Position(line=1, column=1))
        return replace(
            problem, line=place.line, column=place.column, option=place.option, file=place.file
        )

    def put(self, container: Any, path: Path, value: Any, option: str) -> None:
        """Set the value at `path`, in its container, as given by an option of the command line."""
        container[path[-1]] = value
        key = dotted_key(path)
        for places in (self.keys, self.values):
            for below in [known for known in places if known.startswith(f"{key}.")]:
                del places[below]
            places[key] = Position(option=option)


def document_of(text: str) -> Document:
    """Read a text. What is no YAML is a problem of the document."""
    document = Document()
    try:
        node = YAML(typ="safe", pure=True).compose(text)
        _Reader(document).read(node)
    except (YAMLError, RecursionError) as error:
        document.problems.append(_not_yaml(error))
    return document


def documents_of(text: str) -> list[Document]:
    """Read a text of several documents, separated by `---`. Invalid YAML is a problem of a separate
    document.
    """
    documents: list[Document] = []
    try:
        for node in YAML(typ="safe", pure=True).compose_all(text):
            documents.append(Document())
            _Reader(documents[-1]).read(node)
    except (YAMLError, RecursionError) as error:
        documents.append(Document(problems=[_not_yaml(error)]))
    return documents


def _not_yaml(error: Exception) -> Problem:
    mark = None
    reason = str(error).splitlines()[0]
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        reason = error.problem
    says = f"this is not YAML: {reason}"
    if _is_tab(mark):
        says = "this is a tab, which YAML does not allow here: use spaces, not tabs"
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return Problem(key="", says=says, line=line, column=column)


def _is_tab(mark: StringMark | None) -> bool:
    """Whether the character at a mark is a tab."""
    if mark is None or not mark.buffer:
        return False
    return bool(mark.buffer[mark.pointer : mark.pointer + 1] == "\t")


def document_at(path: File, noun: str) -> Document:
    """Read a file that should declare something; DeclarationError if it is not even a mapping."""
    document = document_of(text_of(path))
    if isinstance(document.content, dict):
        return document
    if not document.problems:
        says = "this is not a mapping: begin with 'version: 1'"
        if document.content is None:
            says = f"the file is empty: it should declare {noun}, from 'version: 1' on"
        document.problems.append(Problem(key="", says=says, line=1, column=1))
    raise DeclarationError(document.problems, str(path))


class _Reader:
    """Turns nodes into plain content and notes their places."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.constructor = YAML(typ="safe", pure=True).constructor
        self.above: list[Node] = []

    def read(self, node: Node | None) -> None:
        """Set the content of the document; nothing of it if it is too long."""
        if node is None:
            return
        counts: dict[int, int] = {}
        count = _count_unfolded(node, counts)
        if len(counts) > VALUES_MAX:
            self._wrong(node, (), f"there are more than {VALUES_MAX} values: declare fewer")
        elif count > len(counts) + ALIASED_MAX:
            says = f"aliases unfold {len(counts)} values into {_rounded_text(count)}"
            self._wrong(node, (), f"{says}, more than {ALIASED_MAX} beyond them: use fewer aliases")
        else:
            self.document.content = self.value(node, ())

    def value(self, node: Node, path: Path) -> Any:
        """The content of a node."""
        if node in self.above:
            return self._wrong(node, path, "it contains itself")
        self.above.append(node)
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node, path)
            if isinstance(node, SequenceNode):
                return [self._entry(item, (*path, at)) for at, item in enumerate(node.value)]
            return self._scalar(node, path)
        finally:
            self.above.pop()

    def _entry(self, node: Node, path: Path) -> Any:
        self.document.keys[dotted_key(path)] = _place(node.start_mark)
        self.document.values.setdefault(dotted_key(path), _place(node.start_mark))
        return self.value(node, path)

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        content: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                for part in self._merged_nodes(value_node, path):
                    merged = {**(self.value(part, path) or {}), **merged}
                continue
            if not isinstance(key_node, ScalarNode):
                self._wrong(key_node, path, "a key must be a word")
                continue
            key = key_node.value
            here = (*path, key)
            if key in content:
                self._wrong(
                    key_node, here, "this key is given twice: remove one, or give it another name"
                )
                continue
            self.document.keys[dotted_key(here)] = _place(key_node.start_mark)
            marked = value_node if isinstance(value_node, ScalarNode) else key_node
            self.document.values[dotted_key(here)] = _place(marked.start_mark)
            content[key] = self.value(value_node, here)
        return {**merged, **content}

    def _merged_nodes(self, node: Node, path: Path) -> list[MappingNode]:
        """The mappings that a key `<<` merges."""
        nodes = node.value if isinstance(node, SequenceNode) else [node]
        if all(isinstance(each, MappingNode) for each in nodes):
            return list(nodes)
        says = "`<<` merges mappings: give the alias of one, such as *defaults, or a list of these"
        self._wrong(node, (*path, "<<"), says)
        return []

    def _scalar(self, node: Node, path: Path) -> Any:
        try:
            return self.constructor.construct_object(node, deep=True)
        except (YAMLError, ValueError) as error:
            says = error.problem if isinstance(error, MarkedYAMLError) else str(error)
            return self._wrong(node, path, f"'{node.value}' cannot be read: {says}")

    def _wrong(self, node: Node, path: Path, says: str) -> None:
        place = _place(node.start_mark)
        self.document.problems.append(
            Problem(key=dotted_key(path), says=says, line=place.line, column=place.column)
        )


def _count_unfolded(node: Node, counts: dict[int, int]) -> int:
    """How many values a node holds with its aliases unfolded; `counts` has each node once."""
    if id(node) in counts:
        return counts[id(node)]
    counts[id(node)] = 0  # A node inside itself counts once; `value` reports it.
    below: list[Node] = []
    if isinstance(node, MappingNode):
        below = [value for _, value in node.value]
    elif isinstance(node, SequenceNode):
        below = node.value
    counts[id(node)] = 1 + sum(_count_unfolded(each, counts) for each in below)
    return counts[id(node)]


def _rounded_text(count: int) -> str:
    return str(count) if count < 10**9 else "billions"


def _place(mark: StringMark) -> Position:
    return Position(line=mark.line + 1, column=mark.column + 1)
