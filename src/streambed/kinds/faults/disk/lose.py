"""Lose: a file, or a whole checkpoint, is gone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

from streambed.kinds.declaring import declared
from streambed.kinds.faults.disk.named_files import checksum_of
from streambed.kinds.faults.disk.on_a_file import OnAFile
from streambed.units import count_of
from streambed.world import Injected, World


@declared
class Lose(OnAFile):
    """Kill the owner of `file` at `at` and remove the file; start the owner again after `lasts`."""

    kind: Literal["lose"] = "lose"
    file: str
    """Such as checkpoint of shout, newest commit of shout's checkpoint, or segment of lines/0 at
    its leader.
    """

    def inject(self, world: World) -> Injected:
        """Remove the file that the name means now, or all that is in the folder."""
        return self.change(world, _remove)


def _remove(path: Path) -> str:
    if path.is_dir():
        count = sum(file.is_file() for file in path.rglob("*"))
        for entry in path.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        return f"{count_of(count, 'file')} removed"
    size = path.stat().st_size
    path.unlink()
    checksum_of(path).unlink(missing_ok=True)
    return f"{count_of(size, 'byte')} removed"
