"""Random: switches that are linked at random, the same for the same seed, and always connected."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated, Literal

import networkx as nx
from pydantic import Field

from streambed.declare.generators.generator import Count, OfSwitches
from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.kinds.direction import Direction
from streambed.units import Share


@declared
class Random(OfSwitches):
    """A random tree of the switches s1, s2 …, and more links between them, with hosts h1, h2 … on
    them in the same order.
    """

    kind: Literal["random"] = "random"
    switches: Count
    """How many switches there are."""
    hosts: Annotated[int, Field(strict=True, ge=0)] = 1
    """How many hosts hang on each switch."""
    degree: float | None = None
    """How many switches each switch is linked with, on average."""
    probability: Share | None = None
    """Or: how likely two switches are linked that the tree does not link."""
    seed: Annotated[int, Field(strict=True)] = 1
    """What is drawn at random is drawn from it; the experiment's seed has no effect on the network.
    """
    link: Direction | None = None
    """What each link between switches does."""
    access: Direction | None = None
    """What the link of each host does; default: as `link`."""

    def problems(self, base: Path) -> list[Problem]:
        """Exactly one of degree and probability, within range."""
        wrong: list[Problem] = []
        if (self.degree is None) == (self.probability is None):
            says = "give either a degree, such as 3, or a probability, such as 10%"
            wrong.append(Problem(key="", says=says))
        if self.probability and self.probability.fraction > 1:
            wrong.append(Problem(key="probability", says=f"{self.probability} is more than 100 %"))
        least = 2 * (self.switches - 1) / self.switches
        most = self.switches - 1
        if self.degree is not None and not least <= self.degree <= most:
            rule = f"{self.switches} switches are all connected from {least:.3g} on"
            says = f"{self.degree:g} is not allowed: {rule}, and {most} is the most"
            wrong.append(Problem(key="degree", says=says))
        return wrong or super().problems(base)

    def links_count(self) -> int:
        """The number of links; with a probability, the expected number."""
        if self.degree is not None:
            return round(self.switches * self.degree / 2)
        share = self.probability.fraction if self.probability else 0
        return self.switches + round(share * self.switches * (self.switches - 1) / 2)

    def pairs(self) -> list[tuple[int, int]]:
        """The links of a random tree, then random links between other switches."""
        if self.switches == 1:
            return []
        tree = nx.random_labeled_tree(self.switches, seed=self.seed)
        pairs = dict.fromkeys(_in_order(*pair) for pair in tree.edges)
        if self.probability is not None:
            drawn = nx.fast_gnp_random_graph(
                self.switches, self.probability.fraction, seed=self.seed
            )
            return list(pairs | dict.fromkeys(_in_order(*pair) for pair in drawn.edges))
        draw = random.Random(self.seed)
        while len(pairs) < self.links_count():
            pairs[_in_order(*draw.sample(range(self.switches), 2))] = None
        return list(pairs)


def _in_order(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)
