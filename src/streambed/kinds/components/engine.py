"""What an engine is to the rest of streambed: a component that runs a job, which reads topics and
writes others.

A kind that is an engine gives itself as `as_engine`. Which input an output covers is the engine's
own knowledge: Spark knows the offsets of each batch (CoveredByBatches); a job that passes on the
identity of each record is known by that (CoveredByIdentity). An engine that knows better answers
`times_taken`, `journeys` and `output_dues` itself; where nobody can tell, checks answer "unknown".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from streambed.record.events import Batch
from streambed.world import World

if TYPE_CHECKING:  # The conductor imports this module, and must not wait for data frames.
    import polars as pl

    from streambed.kinds.evidence.by_batches import ByBatches
    from streambed.kinds.evidence.by_identity import ByIdentity
    from streambed.kinds.evidence.course import Taken
    from streambed.record.history import History


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

    def times_taken(self, history: History, topic: str, records: pl.DataFrame) -> Taken:
        """How often the job took each of these records of a topic: producer, sequence, partition,
        offset, in_log.
        """

    def journeys(self, history: History) -> pl.DataFrame:
        """A row for each record that the job was to take: topic, partition, offset, batch, due,
        seen.

        `seen` is when a consumer first saw an output that covers it; null if nobody did. `batch` is
        null if no batch took it.
        """

    def output_dues(
        self, history: History, topics: frozenset[str], *, below: frozenset[str]
    ) -> pl.DataFrame:
        """When the outputs of the job in these topics were due: topic, partition, offset, due.

        An output is due when the earliest input behind it was. Engines in `below` are asking, and
        must not be asked back.
        """


class CoveredByBatches:
    """An engine whose outputs cover the offset ranges of its batches."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    @property
    def _evidence(self) -> ByBatches:
        # A run is made without what judges it, so this is loaded only when a run is judged.
        from streambed.kinds.evidence.by_batches import ByBatches

        return ByBatches(name=self.name, reads=self.reads, writes=self.writes)

    def times_taken(self, history: History, topic: str, records: pl.DataFrame) -> Taken:
        """By the offsets of its batches."""
        return self._evidence.times_taken(history, topic, records)

    def journeys(self, history: History) -> pl.DataFrame:
        """Until the first output of the batch that took a record."""
        return self._evidence.journeys(history)

    def output_dues(
        self, history: History, topics: frozenset[str], *, below: frozenset[str]
    ) -> pl.DataFrame:
        """By the earliest input of the batch that wrote an output."""
        return self._evidence.output_dues(history, topics, below=below)


class CoveredByIdentity:
    """An engine whose outputs carry the identity of their input. It has no batches."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    every_input: ClassVar[bool] = False
    """Whether each input leads to an output: then one without an output is lost."""

    @property
    def _evidence(self) -> ByIdentity:
        from streambed.kinds.evidence.by_identity import ByIdentity  # As above.

        return ByIdentity(
            name=self.name, reads=self.reads, writes=self.writes, every_input=self.every_input
        )

    def batches(self, world: World) -> list[Batch]:
        """It has none."""
        return []

    def times_taken(self, history: History, topic: str, records: pl.DataFrame) -> Taken:
        """By the outputs that were seen."""
        return self._evidence.times_taken(history, topic, records)

    def journeys(self, history: History) -> pl.DataFrame:
        """Until an output with the identity of a record was first seen."""
        return self._evidence.journeys(history)

    def output_dues(
        self, history: History, topics: frozenset[str], *, below: frozenset[str]
    ) -> pl.DataFrame:
        """An output was due when its input was."""
        return self._evidence.output_dues(history, topics, below=below)


def engines_among(components: Mapping[str, Any]) -> dict[str, Engine]:
    """The engines among declared components, by name."""
    engines = {name: component.as_engine for name, component in components.items()}
    return {name: engine for name, engine in engines.items() if engine is not None}
