"""What an engine is to the rest of streambed: a component that runs a job, which reads topics and
writes others.

A kind that is an engine gives itself as `as_engine`. Which input an output covers is the engine's
own knowledge: Spark knows the offsets of each batch (CoveredByBatches); a job that passes on the
identity of each record is known by that (CoveredByIdentity); a job with one output per input, in
the order of each key, is known by counting (CoveredByKeyCount). An engine that knows better brings
its own `evidence`; where it has none, checks answer "unknown".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from streambed.kinds.declared_components import Components
from streambed.record.events import Batch
from streambed.record.events.of_batches import BatchStep
from streambed.world import Process, World

if TYPE_CHECKING:  # The conductor imports this module, and must not wait for data frames.
    from streambed.kinds.evidence.evidence import Evidence


class Engine(Protocol):
    """What runs a job."""

    @property
    def name(self) -> str:
        """The name of the component."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The topics that the job reads."""

    @property
    def writes(self) -> tuple[str, ...]:
        """The topics that the job writes."""

    def batches(self, world: World) -> list[Batch]:
        """The batches that ended since the last call; none for an engine without batches."""

    def batch_steps(self, world: World) -> Sequence[BatchStep]:
        """What it wrote to its log of batches since the last call, in order; called many times a
        second. Nothing for an engine without such a log.
        """

    def batch_log(self, data: Path) -> Path | None:
        """The folder in which it writes `offsets/N` before batch N and `commits/N` after it, or
        that of its queries; None if it writes none on this machine. `data` is its folder.
        """

    @property
    def driver(self) -> str:
        """The process that runs its main program."""

    def executor_of(self, components: Components) -> str:
        """The component whose processes start its executors; empty if it has none."""

    def executors(self, world: World) -> Sequence[Process]:
        """The executors that run its tasks now, besides its driver."""

    @property
    def evidence(self) -> Evidence:
        """What traces records through the job: which input an output covers."""


class InOneProcess:
    """What most engines answer for their processes: one, without executors or a log of batches."""

    name: str

    def batch_steps(self, world: World) -> Sequence[BatchStep]:
        """Empty: it writes no log of batches."""
        return ()

    def batch_log(self, data: Path) -> Path | None:
        """None: it writes no log of batches."""
        return None

    @property
    def driver(self) -> str:
        """Its only process, which has the name of the component."""
        return self.name

    def executor_of(self, components: Components) -> str:
        """Empty: it starts no executors."""
        return ""

    def executors(self, world: World) -> Sequence[Process]:
        """Empty: its only process runs all tasks."""
        return ()


class CoveredByBatches(InOneProcess):
    """An engine whose outputs cover the offset ranges of its batches."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    @property
    def evidence(self) -> Evidence:
        """Traces an input to the outputs of the batch that covers its offset."""
        # A run is made without what judges it, so this is loaded only when a run is judged.
        from streambed.kinds.evidence.by_batches import ByBatches

        return ByBatches(name=self.name, reads=self.reads, writes=self.writes)


class CoveredByIdentity(InOneProcess):
    """An engine whose outputs carry the identity of their input. It has no batches."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    every_input: ClassVar[bool] = False
    """Whether each input leads to an output: then one without an output is lost."""

    @property
    def evidence(self) -> Evidence:
        """Traces an input to the outputs that carry its identity."""
        from streambed.kinds.evidence.by_identity import ByIdentity  # As above.

        return ByIdentity(
            name=self.name, reads=self.reads, writes=self.writes, every_input=self.every_input
        )

    def batches(self, world: World) -> list[Batch]:
        """Empty: it processes records one at a time."""
        return []


class CoveredByKeyCount(InOneProcess):
    """An engine whose n-th output of a key covers the n-th input of that key. It has no batches.

    It must write exactly one output per input, with the same key and in the order of its inputs.
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    @property
    def evidence(self) -> Evidence:
        """Traces the n-th input of a key to the n-th output of that key."""
        from streambed.kinds.evidence.by_key_count import ByKeyCount  # As above.

        return ByKeyCount(name=self.name, reads=self.reads, writes=self.writes)

    def batches(self, world: World) -> list[Batch]:
        """Empty: it processes records one at a time."""
        return []


def engines_among(components: Components) -> dict[str, Engine]:
    """The engines among declared components, by name."""
    engines = {name: component.as_engine for name, component in components.items()}
    return {name: engine for name, engine in engines.items() if engine is not None}
