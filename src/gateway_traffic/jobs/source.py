"""The options of a job, and of Spark's Kafka source."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway_traffic.records import ENCODINGS, Version, topic_of

FETCHES = {"kafka.max.poll.records": "10000", "kafka.max.partition.fetch.bytes": str(4 << 20)}
"""Records are small: the consumer's default of 500 a poll is too few."""
ONCE = "once"


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """The options of a job, as the command line gives them."""

    version: Version
    bootstrap: str
    checkpoint: str
    topic: str = ""
    """Default: traffic-VERSION."""
    letters: str = ""
    """Topic of dead letters. Default: the topic with -dead."""
    encodings: tuple[str, ...] = tuple(ENCODINGS)
    trigger: str = "1 second"
    """Time between two batches; `once`: process what is there now, then end."""
    lateness: str = "1 day"
    once: bool = True
    """Remove duplicates."""
    offsets_per_batch: int = 0
    """Most records of a batch; 0: no limit."""
    least_partitions: int = 0
    """Least number of reading tasks; 0: one for each partition of the topic."""
    archive: str = ""
    """Folder in which every readable record is archived; empty: no archive."""
    source: dict[str, str] = field(default_factory=dict)
    """Further options of Spark's Kafka source."""

    @property
    def reads(self) -> str:
        """The topic to read."""
        return self.topic or topic_of(self.version)

    @property
    def dead_letter_topic(self) -> str:
        """The topic of dead letters."""
        return self.letters or f"{self.reads}-dead"


def source_options(job: JobOptions) -> dict[str, str]:
    """Options of Spark's Kafka source, for a stream and for a batch."""
    return {
        "kafka.bootstrap.servers": job.bootstrap,
        "subscribe": job.reads,
        "includeHeaders": "true",
        **FETCHES,
        **job.source,
    }


def stream_options(job: JobOptions) -> dict[str, str]:
    """Options of Spark's Kafka source for a stream: its start and its limits."""
    limits = {"maxOffsetsPerTrigger": job.offsets_per_batch, "minPartitions": job.least_partitions}
    set_limits = {name: str(limit) for name, limit in limits.items() if limit}
    return {"startingOffsets": "earliest", **set_limits, **source_options(job)}
