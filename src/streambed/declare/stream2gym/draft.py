"""A draft: a declaration that is made from the files of another program, with the place where each
part was said.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from streambed.declare.yaml.document import Document
from streambed.declare.yaml.keys import Path as KeyPath
from streambed.declare.yaml.keys import dotted_key
from streambed.declare.yaml.source import Position
from streambed.errors import Problem, nearest


class Draft:
    """A declaration under construction, with problems, and notes for the user on what is ignored
    or changed in meaning.
    """

    def __init__(self, path: Path, base: Path) -> None:
        self.path = path
        self.base = base
        """The folder at which relative paths of the declaration start."""
        self.document = Document(content={})
        self.built_in: dict[str, list[str]] = {"producer": [], "consumer": []}
        """The components that replace built-in producers and consumers, by role."""
        self._notes: dict[str, list[str]] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Every note once, with the nodes that it concerns."""
        return tuple(
            f"{says} ({', '.join(nodes)})" if nodes else says for says, nodes in self._notes.items()
        )

    def note(self, says: str, node: str = "") -> None:
        """Add a note for the user, about a node or about the whole file."""
        nodes = self._notes.setdefault(says, [])
        if node and node not in nodes:
            nodes.append(node)

    def put(self, path: KeyPath, value: Any, place: Position) -> None:
        """Set `value` at `path`; `place` is where the other file says it."""
        container = self.document.content
        for key, after in pairwise(path):
            if isinstance(container, list) and key == len(container):
                container.append([] if isinstance(after, int) else {})
            elif isinstance(container, dict):
                container.setdefault(key, [] if isinstance(after, int) else {})
            container = container[key]
        if isinstance(container, list):
            container.append(value)
        else:
            container[path[-1]] = value
        self.mark(path, place)

    def mark(self, path: KeyPath, place: Position) -> None:
        """Remember where something was said, for problems that are found later."""
        self.document.keys[dotted_key(path)] = self.document.values[dotted_key(path)] = place

    def wrong(self, key: str, says: str, place: Position) -> None:
        """Report a problem."""
        self.document.problems.append(
            Problem(key=key, says=says, line=place.line, column=place.column, file=place.file)
        )

    def find(self, key: str, named: str, place: Position, *, folder: bool = False) -> Path | None:
        """A file or folder that is named relative to the file that was read, or to the working
        directory; a problem if there is none.
        """
        tried = list(dict.fromkeys([self.path.parent / named, Path(named)]))
        for path in tried:
            if path.is_dir() if folder else path.is_file():
                return path
        noun = "folder" if folder else "file"
        other = next(
            (f"{path} is a {'file' if folder else 'folder'}" for path in tried if path.exists()), ""
        )
        looked = "looked for " + " and ".join(map(str, tried))
        self.wrong(key, f"there is no {noun} '{named}': {other or looked}", place)
        return None

    def relative(self, path: Path) -> str:
        """A path as the declaration gives it."""
        return os.path.relpath(path, self.base)

    def unknown(self, noun: str, word: str, known: Iterable[str], node: str) -> None:
        """Note something that is not understood, with what may have been meant."""
        says = f"{noun} '{word}' is not known and is ignored"
        if near := nearest(word, known):
            says += f". Did you mean '{near}'?"
        self.note(says, node)
