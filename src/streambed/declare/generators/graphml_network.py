"""A network from a GraphML file with coordinates, in the form of the Internet Topology Zoo."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from streambed.declare.earth import place_problems
from streambed.declare.generators.cities import delay_problems, on_the_map
from streambed.declare.generators.generator import Made, direction_problems, too_large
from streambed.declare.generators.zoo import Zoo, zoo_of
from streambed.declare.generators.zoo_repairs import (
    largest_part,
    nodes_without_coordinates,
    outside_largest_part,
    place_by_neighbours,
    with_places,
    without_unplaced,
)
from streambed.declare.link import NodeName
from streambed.declare.stream2gym import graphml
from streambed.errors import DeclarationError, Problem, suggestion
from streambed.kinds.components.component import missing_file
from streambed.kinds.declaring import declared
from streambed.kinds.direction import Direction
from streambed.units import Duration


@declared
class GraphmlNetwork:
    """For each node of the file a host of its label, on a switch such as Paris-switch; delays by
    distance, rates as the file says.
    """

    kind: Literal["graphml"] = "graphml"
    file: str
    """The GraphML file, beside the declaration."""
    places: dict[NodeName, tuple[float, float]] = Field(default_factory=dict)
    """Latitude and longitude of nodes for which the file gives none."""
    unplaced: Literal["refuse", "neighbours", "omit"] = "refuse"
    """What becomes of other nodes without coordinates: neighbours puts them at the mean of their
    neighbours, omit leaves them out with their links.
    """
    part: Literal["all", "largest"] = "all"
    """Which part of a network that is in parts is used."""
    detour: Annotated[float, Field(ge=1)] = 1.0
    """How much longer cables are than the great circle."""
    shortest: Duration = Duration(100_000)
    """Links whose delay would be shorter have none."""
    link: Direction | None = None
    """What else each link between switches does; its rate is for those for which the file gives
    none.
    """
    access: Direction | None = None
    """What the link of each host does; default: nothing to packets."""

    def problems(self, base: Path) -> list[Problem]:
        """The file must be GraphML, and every node must have coordinates."""
        if missing := missing_file(self.file, base, "file"):
            return missing
        try:
            zoo = self._zoo(base)
        except DeclarationError as error:  # It is not XML, or not GraphML.
            file = str(base / self.file)
            return [replace(problem, key="file", file=file) for problem in error.problems]
        if zoo.problems:
            return list(zoo.problems)
        wrong = (
            place_problems(self.places, "places")
            + self._strangers(base)
            + self._nowhere(zoo, base)
            + delay_problems(self.link)
        )
        return wrong or too_large(2 * len(zoo.nodes), len(zoo.edges)) + direction_problems(
            access=self.access
        )

    def _zoo(self, base: Path) -> Zoo:
        """The network of the file, repaired as far as the declaration allows."""
        zoo = with_places(self._file_content(base), self.places)
        if self.part == "largest":
            zoo = largest_part(zoo)
        if self.unplaced == "neighbours":
            zoo = place_by_neighbours(zoo)
        elif self.unplaced == "omit":
            zoo = without_unplaced(zoo)
        if self.part == "largest":
            zoo = largest_part(zoo)  # Without unplaced nodes it may not be connected any more.
        return zoo

    def _file_content(self, base: Path) -> Zoo:
        return zoo_of(graphml.read(base / self.file), str(base / self.file))

    def _strangers(self, base: Path) -> list[Problem]:
        """Names under `places` that the file does not have."""
        nodes = self._file_content(base).nodes
        return [
            Problem(
                key=f"places.{name}", says=f"there is no node '{name}'. {suggestion(name, nodes)}"
            )
            for name in self.places
            if name not in nodes
        ]

    def _nowhere(self, zoo: Zoo, base: Path) -> list[Problem]:
        """All nodes that have no coordinates yet."""
        names = nodes_without_coordinates(zoo)
        if not names:
            return []
        listed = ", ".join(f"{name} (line {zoo.nodes[name].line})" for name in names)
        advice = [f"give them under `places`, such as {{{names[0]}: [52.5, 13.4]}}"]
        if self.unplaced == "refuse":
            advice += [
                "or place these nodes at the mean of their neighbours with `unplaced: neighbours`",
                "or leave them out with `unplaced: omit`",
            ]
        says = f"no Latitude and Longitude for {listed}: {', '.join(advice)}"
        return [
            Problem(
                key="places",
                says=says,
                file=str(base / self.file),
                line=zoo.nodes[names[0]].line,
                column=1,
            )
        ]

    def make(self, base: Path) -> Made:
        """A host and a switch for each node; of several links between two nodes each has a name,
        such as Paris-Rome-2.
        """
        zoo = self._zoo(base)
        places = {name: node.place for name, node in zoo.nodes.items() if node.place is not None}
        pairs = [edge.ends for edge in zoo.edges]
        made = on_the_map(
            places,
            pairs,
            detour=self.detour,
            shortest=self.shortest,
            link=self.link,
            access=self.access,
        )
        refined = zoo.refined(made, Counter(map(frozenset, pairs)))
        return replace(refined, in_parts=self._parts_advice(zoo))

    def _parts_advice(self, zoo: Zoo) -> str:
        outside = outside_largest_part(zoo)
        if not outside:
            return ""
        apart = f"no path joins these nodes with the largest part: {', '.join(outside)}"
        how = f"`generate: {{kind: graphml, file: {self.file}, part: largest}}`"
        return f"{apart}. Leave them out with {how}, or add links"
