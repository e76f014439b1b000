"""Corrupt: bytes of a file turn over, or its end is missing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Literal

from pydantic import Field

from streambed.errors import Problem, WorldError
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.disk.named_files import Checkpoint, named_file
from streambed.kinds.faults.disk.on_a_file import OnAFile
from streambed.kinds.faults.of_links import Links
from streambed.units import count_of
from streambed.world import Injected, World


@declared
class Corrupt(OnAFile):
    """Kill the owner of `file` at `at` and change the file; start the owner again after `lasts`."""

    kind: Literal["corrupt"] = "corrupt"
    file: str
    """Such as segment of lines/0 at its leader, or newest commit of shout's checkpoint."""
    how: Literal["flip", "truncate"] = "flip"
    """Flip a bit in some bytes, or cut the file; where is drawn by the seed."""
    bytes: Annotated[int, Field(ge=1, le=1 << 20)] = 1
    """How many bytes are flipped at most."""

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """A single file is needed."""
        match named_file(self.file):
            case Checkpoint(log=""):
                says = "a checkpoint is a folder: name its newest commit or offsets, or use lose"
                return [Problem(key="file", says=says)]
        return super().problems(hosts, links, components)

    def inject(self, world: World) -> Injected:
        """Change the file that the name means now."""
        draw = Random(f"{world.plan.seed} {self.kind} {self.at} {self.file}")
        return self.change(world, lambda path: self._spoil(path, draw))

    def _spoil(self, path: Path, draw: Random) -> str:
        size = path.stat().st_size
        if not size:
            raise WorldError(f"{path} is empty, so nothing in it can be changed")
        if self.how == "truncate":
            length = draw.randrange(size)
            os.truncate(path, length)
            return f"cut from {size} to {length} bytes"
        places = sorted(draw.sample(range(size), min(self.bytes, size)))
        with path.open("rb+") as file:
            for place in places:
                file.seek(place)
                (byte,) = file.read(1)
                file.seek(place)
                file.write(bytes_of(byte ^ 1 << draw.randrange(8)))
        return f"{count_of(len(places), 'byte')} of {size} changed, the first at {places[0]}"


def bytes_of(number: int) -> bytes:
    """One byte; the name `bytes` is a key of the fault."""
    return number.to_bytes(1, "little")
