"""Evidence: what the history of a run tells of the records that passed through a job."""

from __future__ import annotations

from typing import Protocol

import polars as pl

from streambed.kinds.evidence.course import Taken
from streambed.record.history import History


class Evidence(Protocol):
    """Traces records through one job. ByBatches, ByIdentity and ByKeyCount do that."""

    @property
    def name(self) -> str:
        """The name of the job."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The topics that the job reads."""

    @property
    def writes(self) -> tuple[str, ...]:
        """The topics that the job writes."""

    def times_taken(self, history: History, topic: str, records: pl.DataFrame) -> Taken:
        """How often the job took each of these records of a topic.

        `records` has the columns producer, sequence, partition, offset and in_log.
        """

    def journeys(self, history: History) -> pl.DataFrame:
        """A row for each record that the job was to take: topic, partition, offset, due, seen.

        `seen` is when a consumer first saw an output that covers the record; null if none did. An
        optional column `silent` says that no output is expected, `acked` that it was acknowledged,
        `untold` that its fate is unknown. If only bounds of `seen` are known, it is
        null and the optional columns `earliest` and `latest` have them.
        """

    def output_dues(
        self, history: History, topics: frozenset[str], *, below: frozenset[str]
    ) -> pl.DataFrame:
        """When the job's outputs in these topics were due: topic, partition, offset, due.

        An output is due when the earliest input behind it was. Jobs in `below` are being traced
        already, and must not be asked again.
        """
