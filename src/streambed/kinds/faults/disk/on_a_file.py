"""Faults that change a file while its owner is dead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from streambed.errors import Problem
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.disk.named_files import (
    disk_of,
    file_problems,
    named_file,
    owners,
)
from streambed.kinds.faults.fault import Lasting
from streambed.kinds.faults.of_links import Links
from streambed.world import Heal, Injected, World


@declared
class OnAFile(Lasting):
    """Defaults for faults with one `file`."""

    file: str

    @property
    def aim(self) -> str:
        """The file, as declared."""
        return self.file

    @property
    def roles(self) -> Sequence[str]:
        """The leader of a partition, if its segment is meant."""
        file = named_file(self.file)
        return (file.role,) if file and file.role else ()

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The file must be one that a declared component keeps."""
        return file_problems(self.file, components)

    def killed_components(self, components: Components) -> Collection[str]:
        """The owner's component."""
        return owners(named_file(self.file), components)

    def change(self, world: World, how: Callable[[Path], str]) -> Injected:
        """Kill the owner if it runs, and change the file; `how` says what it did. Healing starts
        the owner again if it was killed here.
        """
        file = named_file(self.file)
        assert file
        owner = file.owner(world)
        disk = disk_of(owner, world)
        file.path(disk)  # If it is not there yet, nothing is killed.
        with ExitStack() as healing:  # If the change fails, the owner is started again.
            healing.callback(kill_if_alive(owner, world))
            path = file.path(disk)
            done = how(path)
            where = path.relative_to(world.directory / "data") if path != disk else disk.name
            return Injected(
                target=f"{self.file} ({owner}): {where}, {done}",
                heal=healing.pop_all().close,
                processes=(owner,),
            )


def kill_if_alive(process: str, world: World) -> Heal:
    """Kill a process; a process that another fault has stopped or killed is left to that fault."""
    live = world.find(process)
    return live.kill() if live.alive else lambda: None
