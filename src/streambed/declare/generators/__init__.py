"""Generators: networks by a few numbers, by a list of cities, or by a file of the Internet Topology
Zoo.
"""

from streambed.declare.generators.cities import Cities
from streambed.declare.generators.fat_tree import FatTree
from streambed.declare.generators.graphml_network import GraphmlNetwork
from streambed.declare.generators.line import Line
from streambed.declare.generators.mesh import Mesh
from streambed.declare.generators.random_graph import Random
from streambed.declare.generators.ring import Ring
from streambed.declare.generators.star import Star
from streambed.declare.generators.tree import Tree

GENERATORS = {
    "star": Star,
    "line": Line,
    "ring": Ring,
    "mesh": Mesh,
    "tree": Tree,
    "fat_tree": FatTree,
    "random": Random,
    "cities": Cities,
    "graphml": GraphmlNetwork,
}

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
