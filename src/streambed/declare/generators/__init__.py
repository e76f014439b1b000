"""Generators: networks by a few numbers, by a list of cities, or by a file of the Internet Topology
Zoo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streambed.kinds.kind_table import KindTable

if TYPE_CHECKING:
    from streambed.declare.generators.cities import Cities
    from streambed.declare.generators.fat_tree import FatTree
    from streambed.declare.generators.graphml_network import GraphmlNetwork
    from streambed.declare.generators.line import Line
    from streambed.declare.generators.mesh import Mesh
    from streambed.declare.generators.random_graph import Random
    from streambed.declare.generators.ring import Ring
    from streambed.declare.generators.star import Star
    from streambed.declare.generators.tree import Tree

GENERATORS: KindTable[Any] = KindTable(
    "streambed.declare.generators",
    {
        "star": "star:Star",
        "line": "line:Line",
        "ring": "ring:Ring",
        "mesh": "mesh:Mesh",
        "tree": "tree:Tree",
        "fat_tree": "fat_tree:FatTree",
        "random": "random_graph:Random",
        "cities": "cities:Cities",
        "graphml": "graphml_network:GraphmlNetwork",
    },
)

__all__ = [
    "GENERATORS",
    "Cities",
    "FatTree",
    "GraphmlNetwork",
    "Line",
    "Mesh",
    "Random",
    "Ring",
    "Star",
    "Tree",
]


if not TYPE_CHECKING:  # If mypy saw it, any misspelt name would be Any.

    def __getattr__(name: str) -> Any:
        return GENERATORS.class_called(name)
