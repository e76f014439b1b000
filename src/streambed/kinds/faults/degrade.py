"""Degrade: links get other delays, losses or rates than declared, until they heal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from streambed.errors import Problem
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.direction import Direction
from streambed.kinds.direction_rules import direction_problems
from streambed.kinds.faults.fault import Lasting, LinkChange
from streambed.kinds.faults.of_links import (
    SCHEMA,
    Links,
    LinkTarget,
    link_label,
    link_problems,
    links_named,
)
from streambed.units import Bandwidth, Duration
from streambed.world import Injected, World


def _as_list_of_targets(value: Any) -> Any:
    """A single link, by name or by its two ends, as a list of one."""
    if isinstance(value, str):
        return (value,)
    is_list = isinstance(value, (list, tuple)) and bool(value)
    if is_list and all(isinstance(end, str) for end in value):
        return (value,)
    return value


LinkTargets = Annotated[
    tuple[LinkTarget, ...],
    BeforeValidator(_as_list_of_targets),
    WithJsonSchema({"anyOf": [SCHEMA, {"type": "array", "items": SCHEMA, "minItems": 1}]}),
]
"""One link, by its two ends or its name, or a list of links."""


@declared
class _Aimed(Lasting):
    kind: Literal["degrade"] = "degrade"
    link: LinkTargets
    """The two ends of the link, or its name, or a list of links."""
    source: str = ""
    """Change only packets that leave this end; default: both directions."""


@declared
class Degrade(Direction, _Aimed):
    """Change links at `at`; restore them after `lasts`. Keys that are left out do not change."""

    @property
    def aim(self) -> str:
        """The links and their new values."""
        links = ", ".join(link_label(link, self.source) for link in self.link)
        values = ", ".join(f"{name} {value}" for name, value in self.given.items())
        return f"{links}: {values}"

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """Links must exist, something must change, and the values must be possible on some link.

        Whether they are possible on these links is up to the planner.
        """
        problems = []
        for link in self.link:
            problems += link_problems(link, self.source, links, "link")
        if not self.link:
            problems.append(Problem(key="link", says="there is none: give the two ends of a link"))
        if not self.given:
            says = "nothing changes: give a delay, a loss, a rate or another key of a link"
            problems.append(Problem(key="delay", says=says))
        if self.jitter is not None and self.delay is None and self.samples is None:
            problems.append(Problem(key="jitter", says="jitter needs a delay: give that as well"))
        return problems + direction_problems(self, self.over(_ANY_LINK))

    def emulated(self, links: Links, components: Components) -> Sequence[str]:
        """The links that the target names."""
        return [name for target in self.link for name in links_named(target, links)]

    def changes_of(self, links: Links) -> LinkChange:
        """The new values, and the links that get them."""
        names = tuple(dict.fromkeys(self.emulated(links, {})))
        return LinkChange(links=names, source=self.source, direction=self)

    def inject(self, world: World) -> Injected:
        """Change each link; healing restores the earlier values."""
        changes = self.changes(world.plan.samples_ns if self.samples else {})
        wires = [wire for target in self.link for wire in world.wires_named(target)]
        with ExitStack() as healing:  # If one change fails, the earlier ones are undone.
            for wire in wires:
                sources = (self.source,) if self.source else wire.ends
                healing.callback(wire.degrade(sources, changes))
            return Injected(
                target=self.aim,
                heal=healing.pop_all().close,
                links=tuple(wire.ends for wire in wires),
            )


_ANY_LINK = Direction(delay=Duration(1e9), rate=Bandwidth(1e9))
"""A link on which every key of a fault makes sense."""
