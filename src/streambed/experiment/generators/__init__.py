"""Generators: networks by a few numbers, by a list of cities, or by a file of the Internet Topology Zoo."""

from streambed.experiment.generators.cities import Cities
from streambed.experiment.generators.fat_tree import FatTree
from streambed.experiment.generators.graphml_network import GraphmlNetwork
from streambed.experiment.generators.line import Line
from streambed.experiment.generators.mesh import Mesh
from streambed.experiment.generators.random_graph import Random
from streambed.experiment.generators.ring import Ring
from streambed.experiment.generators.star import Star
from streambed.experiment.generators.tree import Tree

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

__all__ = ["GENERATORS", "Cities", "FatTree", "GraphmlNetwork", "Line", "Mesh", "Random", "Ring", "Star", "Tree"]
