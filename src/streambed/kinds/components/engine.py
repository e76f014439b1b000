"""What an engine is to the rest of streambed: a component that runs a job, which reads topics and writes others.

A kind that is an engine gives itself as `as_engine`. What an output covers of the input is the engine's own knowledge: Spark knows
the offsets of each batch; a job that passes on the identity of each record is known by that (kinds/evidence/by_identity.py); of
any other job nobody can tell, and checks that depend on it answer "unknown".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from streambed.record.events import Batch
from streambed.world import World

if TYPE_CHECKING:  # The conductor imports this module, and must not wait for data frames.
    import polars as pl

    from streambed.history import History
    from streambed.kinds.evidence.taken import Taken


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
        """How often the job took each of these records of a topic: producer, sequence, partition, offset, in_log."""

    def journeys(self, history: History) -> pl.DataFrame:
        """A row for each record that the job was to take: topic, partition, offset, batch, due, seen.

        `seen` is when a consumer first saw an output that covers it; null if nobody did. `batch` is null if no batch took it.
        """

    def output_dues(self, history: History, topics: frozenset[str], *, below: frozenset[str]) -> pl.DataFrame:
        """When the outputs of the job in these topics were due: topic, partition, offset, due.

        An output is due when the earliest input behind it was. Engines in `below` are asking, and must not be asked back.
        """


def engines_among(components: Mapping[str, Any]) -> dict[str, Engine]:
    """The engines among declared components, by name."""
    engines = {name: component.as_engine for name, component in components.items()}
    return {name: engine for name, engine in engines.items() if engine is not None}
