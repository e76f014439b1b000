"""Kill: a process dies without a word and is started again later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from streambed.errors import Problem, suggestion
from streambed.kinds.declaring import declared
from streambed.units import Duration
from streambed.world import Heal, World


@declared
class Kill:
    """Kill `target` at `at`; start it again after `lasts`."""

    kind: Literal["kill"] = "kill"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    target: str
    """A component with one process, or one process of a component, such as kafka/broker2."""

    @property
    def aim(self) -> str:
        """What it hits, for people."""
        return self.target

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """It cuts no link."""
        return ()

    def problems(self, nodes: Iterable[str], links: Iterable[tuple[str, str]], components: dict[str, Any]) -> list[Problem]:
        """The target must be a single process."""
        names = {name: list(component.places.values()) for name, component in components.items()}
        single = [name for name, places in names.items() if len(places) == 1]
        parts = [f"{name}/{place}" for name, places in names.items() for place in places]
        if self.target in single or self.target in parts:
            return []
        if self.target in names:
            return [
                Problem(
                    key="target", says=f"'{self.target}' has several processes: name one, such as '{self.target}/{names[self.target][0]}'"
                )
            ]
        return [Problem(key="target", says=f"there is no '{self.target}'. {suggestion(self.target, [*single, *parts])}")]

    def inject(self, world: World) -> Heal:
        """Whoever it is now, dies; healing starts it again."""
        victim = world.find(self.target)
        victim.kill()
        return victim.start
