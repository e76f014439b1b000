"""The disks of components: where their processes keep what they recover from, and what faults need
there before a run begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from streambed.plan import ProcessSpec

IN_PLACE = (
    "it writes its files in place, so their sizes do not tell what a power failure leaves of them: "
    "use kill, which keeps all that was written"
)


class HasDisks(Protocol):
    """What a component says of its disks."""

    @property
    def disks(self) -> Mapping[str, str]:
        """By node, the folder of its process with the files that it recovers from, relative to the
        component's folder.
        """

    @property
    def no_syncs(self) -> str:
        """Why it never syncs its files, and how to make it; empty if it does."""

    @property
    def append_only(self) -> tuple[str, ...]:
        """Patterns of the names of files there that it only appends to: a power failure cuts those,
        and leaves others alone.
        """

    @property
    def power_failure_refusal(self) -> str:
        """Why it is unknown what a power failure would leave of its files, and what to use
        instead; empty if it only appends to them and syncs them.
        """


class NoDisks:
    """Defaults for components that recover from no files."""

    @property
    def disks(self) -> Mapping[str, str]:
        """Empty: it has no files to recover from."""
        return {}

    @property
    def no_syncs(self) -> str:
        """Empty: most servers sync their files."""
        return ""

    @property
    def append_only(self) -> tuple[str, ...]:
        """A pattern for all files: most servers only append to theirs."""
        return ("*",)

    @property
    def power_failure_refusal(self) -> str:
        """Refused: a power failure would lose nothing."""
        return "it keeps no files that it recovers from: use kill"


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """What a fault needs of a process before that starts."""

    component: str
    node: str = ""
    """Empty for all nodes."""
    disk_bytes: int = 0
    """The size of a separate file system for its disk."""
    syncs: bool = False
    """Whether its syncs must be reported."""

    def is_for(self, process: ProcessSpec) -> bool:
        """Whether the process is one that the fault may hit."""
        return self.component == process.component and self.node in ("", process.node)


def prepare(
    process: ProcessSpec,
    component: HasDisks,
    preparations: Iterable[Preparation],
    data: Path,
) -> ProcessSpec:
    """The process with its disk, and what faults need there; `data` is the component's folder."""
    needed = [preparation for preparation in preparations if preparation.is_for(process)]
    disk = component.disks.get(process.node)
    return replace(
        process,
        disk="" if disk is None else str(data / disk),
        disk_bytes=max((preparation.disk_bytes for preparation in needed), default=0),
        append_only=component.append_only,
        reports_syncs=any(preparation.syncs for preparation in needed),
    )
