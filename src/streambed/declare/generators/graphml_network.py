"""A network from a GraphML file with coordinates, in the form of the Internet Topology Zoo."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from streambed.declare.earth import place_problems
from streambed.declare.generators.cities import delay_problems, on_the_map
from streambed.declare.generators.generator import Made, too_large, way_problems
from streambed.declare.generators.zoo import Zoo, understood
from streambed.declare.link import NodeName
from streambed.declare.stream2gym import graphml
from streambed.errors import DeclarationError, Problem, suggestion
from streambed.kinds.components.component import missing_file
from streambed.kinds.declaring import declared
from streambed.kinds.direction import Way
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
    detour: Annotated[float, Field(ge=1)] = 1.0
    """How much longer cables are than the great circle."""
    shortest: Duration = Duration(100_000)
    """Links whose delay would be shorter have none."""
    link: Way | None = None
    """What else each link between switches does; its rate is for those for which the file gives
    none.
    """
    access: Way | None = None
    """What the link of each host does; default: nothing to packets."""

    def problems(self, base: Path) -> list[Problem]:
        """The file is GraphML, and every node of it is somewhere."""
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
            + self._misplaced(zoo, base)
            + delay_problems(self.link)
        )
        return wrong or too_large(2 * len(zoo.nodes), len(zoo.edges)) + way_problems(
            access=self.access
        )

    def _zoo(self, base: Path) -> Zoo:
        return understood(graphml.read(base / self.file), str(base / self.file))

    def _misplaced(self, zoo: Zoo, base: Path) -> list[Problem]:
        strangers = [name for name in self.places if name not in zoo.nodes]
        wrong = [
            Problem(
                key=f"places.{name}",
                says=f"there is no node '{name}'. {suggestion(name, zoo.nodes)}",
            )
            for name in strangers
        ]
        nowhere = {
            name: node
            for name, node in zoo.nodes.items()
            if node.place is None and name not in self.places
        }
        if nowhere:
            names = ", ".join(
                f"{name} (line {node.line})" for name, node in list(nowhere.items())[:8]
            )
            more = f" and {len(nowhere) - 8} more" if len(nowhere) > 8 else ""
            example = f"{{{next(iter(nowhere))}: [52.5, 13.4]}}"
            advice = f"give them under `places`, such as {example}"
            says = f"no Latitude and Longitude for {names}{more}: {advice}"
            wrong.append(
                Problem(
                    key="places",
                    says=says,
                    file=str(base / self.file),
                    line=next(iter(nowhere.values())).line,
                    column=1,
                )
            )
        return wrong

    def make(self, base: Path) -> Made:
        """A host and a switch for each node; of several links between two nodes each has a name,
        such as Paris-Rome-2.
        """
        zoo = self._zoo(base)
        places = {
            name: self.places.get(name) or node.place or (0.0, 0.0)
            for name, node in zoo.nodes.items()
        }
        pairs = [edge.ends for edge in zoo.edges]
        made = on_the_map(
            places,
            pairs,
            detour=self.detour,
            shortest=self.shortest,
            link=self.link,
            access=self.access,
        )
        return zoo.refined(made, Counter(map(frozenset, pairs)))
