"""How dense the code is, in AST nodes. Run: python tests/density.py [FOLDER ...]

Prints the 40 densest functions below the folders (default: src), then the median number of nodes a
function and a line.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHOWN = 40


@dataclass(frozen=True)
class Size:
    """The size of one function, with its signature and docstring."""

    place: str
    nodes: int
    lines: int

    @property
    def nodes_a_line(self) -> float:
        return self.nodes / self.lines


def sizes(path: Path) -> Iterator[Size]:
    """Every function and method of a file. A nested function counts for the outer one, too."""
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes = sum(1 for _ in ast.walk(function))
            lines = (function.end_lineno or 0) - function.lineno + 1
            yield Size(f"{path}:{function.lineno} {function.name}", nodes, lines)


def main(folders: list[str]) -> None:
    functions: list[Size] = []
    for folder in folders or [str(ROOT / "src")]:
        for path in sorted(Path(folder).rglob("*.py")):
            functions += sizes(path)
    functions.sort(key=lambda function: function.nodes, reverse=True)
    for function in functions[:SHOWN]:
        print(f"{function.nodes:5} nodes {function.lines:4} lines  {function.place}")
    nodes = statistics.median(function.nodes for function in functions)
    nodes_a_line = statistics.median(function.nodes_a_line for function in functions)
    print(
        f"{len(functions)} functions; "
        f"medians: {nodes:.0f} nodes a function, {nodes_a_line:.1f} a line"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
