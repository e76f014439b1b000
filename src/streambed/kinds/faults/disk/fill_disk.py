"""Fill disk: a process finds no space left on its disk until it heals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from streambed.errors import Problem
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.disks import Preparation
from streambed.kinds.faults.disk.on_a_disk import OnADisk, break_disks, node_of
from streambed.kinds.faults.of_links import Links
from streambed.kinds.faults.targets import component_of
from streambed.units import Size
from streambed.world import Injected, World

SMALLEST = Size(1 << 20)


@declared
class FillDisk(OnADisk):
    """Leave no space on the disk of `target` from `at` on; `size` again after `lasts`. If the
    process ends of it, it is started again then.
    """

    state: ClassVar[str] = "out of disk space"

    kind: Literal["fill_disk"] = "fill_disk"
    target: str
    """A component with one process, one process of a component such as kafka/broker2, or a role
    such as leader of lines/0.
    """
    size: Size = Size(256 << 20)
    """The size of the disk, which is in memory, while it is not full."""

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """Its disk must exist and have some room."""
        problems = super().problems(hosts, links, components)
        if self.size < SMALLEST:
            says = f"{self.size} is too little for any server: give {SMALLEST} or more"
            problems.append(Problem(key="size", says=says))
        return problems

    def prepares(self, components: Components) -> Sequence[Preparation]:
        """Each process that it may hit has its disk in memory."""
        component = component_of(self.target, components)
        node = node_of(self.target)
        return (Preparation(component=component, node=node, disk_bytes=self.size.bytes),)

    def inject(self, world: World) -> Injected:
        """Fill the disks of the processes that the target means now."""
        return break_disks(self.target, world, lambda process: world.fill_disk(process.name))
