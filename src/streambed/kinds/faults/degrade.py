"""Degrade: links do other things to packets than declared, until they do as declared again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.kinds.direction import Way
from streambed.kinds.direction_rules import way_problems
from streambed.kinds.faults.fault import LinkChange, NeedsNothing
from streambed.kinds.faults.of_links import SCHEMA, Links, LinkTarget, link_problems, meant, shown
from streambed.units import Bandwidth, Duration
from streambed.world import Injury, World


def _several(found: Any) -> Any:
    single = isinstance(found, str) or (
        isinstance(found, (list, tuple)) and found and all(isinstance(end, str) for end in found)
    )
    return (found,) if single else found


LinkTargets = Annotated[
    tuple[LinkTarget, ...],
    BeforeValidator(_several),
    WithJsonSchema({"anyOf": [SCHEMA, {"type": "array", "items": SCHEMA, "minItems": 1}]}),
]
"""One link by its two ends or its name, or a list of such."""


@declared
class _Aimed:
    kind: Literal["degrade"] = "degrade"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    link: LinkTargets
    """The two ends of the link, or its name, or a list of links."""
    source: str = ""
    """Only packets that leave this end; empty for both ways."""


@declared
class Degrade(Way, _Aimed, NeedsNothing):
    """Give links other values at `at`, and the declared ones again after `lasts`. What is not given
    stays as it was.
    """

    @property
    def aim(self) -> str:
        """The links or ways, and what becomes of them."""
        values = ", ".join(f"{name} {value}" for name, value in self.given.items())
        return f"{', '.join(shown(link, self.source) for link in self.link)}: {values}"

    def problems(
        self, hosts: Sequence[str], links: Links, components: dict[str, Any]
    ) -> list[Problem]:
        """Links must exist, something must change, and values be possible on some link; on these,
        see experiment.shapes.
        """
        found = [
            problem
            for link in self.link
            for problem in link_problems(link, self.source, links, "link")
        ]
        if not self.link:
            found.append(Problem(key="link", says="there is none: give the two ends of a link"))
        if not self.given:
            found.append(
                Problem(
                    key="delay",
                    says="nothing changes: give a delay, a loss, a rate or another key of a link",
                )
            )
        if self.jitter is not None and self.delay is None and self.samples is None:
            found.append(Problem(key="jitter", says="jitter needs a delay: give that as well"))
        return found + way_problems(self, self.over(_FITTING))

    def emulated(self, links: Links, components: dict[str, Any]) -> Sequence[str]:
        """Its links."""
        return [name for target in self.link for name in meant(target, links)]

    def changes_of(self, links: Links) -> LinkChange:
        """Its values, for its links."""
        names = dict.fromkeys(name for target in self.link for name in meant(target, links))
        return LinkChange(links=tuple(names), source=self.source, way=self)

    def inject(self, world: World) -> Injury:
        """Change each link; healing brings back what held before."""
        changes = self.changes(world.plan.samples_ns if self.samples else {})
        with ExitStack() as healing:  # If one change fails, those before it are undone.
            for wire in (wire for target in self.link for wire in world.wires_named(target)):
                healing.callback(
                    wire.degrade((self.source,) if self.source else wire.ends, changes)
                )
            return Injury(target=self.aim, heal=healing.pop_all().close)


_FITTING = Way(delay=Duration(1e9), rate=Bandwidth(1e9))
"""A link on which all that a fault may change makes sense."""
