"""Elect: a partition gets another leader on demand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from streambed.errors import Problem
from streambed.kinds.components.broker import Elects, broker_of
from streambed.kinds.components.roles import Role, role_problems
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.fault import Momentary
from streambed.kinds.faults.of_links import Links
from streambed.world import Injected, World

_PARTITION = re.compile(r"(?P<topic>[^/\s]+)(/(?P<number>[0-9]{1,6}))?")


@declared
class Elect(Momentary):
    """Hold an election for `partition`: of its preferred leader, or of any live replica."""

    kind: Literal["elect"] = "elect"
    partition: str
    """TOPIC/PARTITION; without a number, partition 0."""
    unclean: bool = False
    """Any live replica, also one that lacks acknowledged records; only while there is no leader."""

    @property
    def aim(self) -> str:
        """The partition."""
        return f"{'unclean ' if self.unclean else ''}leader of {self.partition}"

    @property
    def _role(self) -> Role | None:
        match = _PARTITION.fullmatch(self.partition)
        if not match:
            return None
        return Role(kind="leader", of=match["topic"], partition=int(match["number"] or 0))

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The partition must exist, and its broker must hold elections."""
        wanted = self._role
        if wanted is None:
            says = f"'{self.partition}' is not a partition: write one such as lines/0"
            return [Problem(key="partition", says=says)]
        if problems := role_problems(str(wanted), components, "partition"):
            return problems
        broker = broker_of((wanted.of,), components)
        if isinstance(broker, Elects):
            return []
        says = f"the broker of '{wanted.of}' holds no elections: leave this fault out"
        return [Problem(key="partition", says=says)]

    def inject(self, world: World) -> Injected:
        """Ask the cluster from inside the network; there is nothing to heal."""
        wanted = self._role
        assert wanted
        broker = broker_of((wanted.of,), world.components)
        assert isinstance(broker, Elects)
        leader = broker.elect(
            world, topic=wanted.of, partition=wanted.partition, unclean=self.unclean
        )
        return Injected(target=f"{leader} ({self.aim})", heal=lambda: None)
