"""What a job is to do, and how it reads Kafka."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway_traffic.records import ENCODINGS, Version, topic_of

FETCHES = {"kafka.max.poll.records": "10000", "kafka.max.partition.fetch.bytes": str(4 << 20)}
"""Records are small: the consumer's own 500 for each poll are few."""
ONCE = "once"


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """What the job is to do; every field is an option of the command line."""

    version: Version
    bootstrap: str
    checkpoint: str
    topic: str = ""
    """Default: traffic-VERSION."""
    letters: str = ""
    """Topic of dead letters. Default: the topic with -dead."""
    encodings: tuple[str, ...] = tuple(ENCODINGS)
    trigger: str = "1 second"
    """Time between two batches; `once`: all that is there now, then end."""
    lateness: str = "1 day"
    once: bool = True
    """Remove duplicates."""
    offsets_per_batch: int = 0
    """The most records of a batch; 0: all that are there."""
    least_partitions: int = 0
    """Tasks that read, if more than the topic has partitions; 0: as the topic has."""
    archive: str = ""
    """Folder in which every record that can be read is kept too."""
    source: dict[str, str] = field(default_factory=dict)
    """Further options of Spark's Kafka source."""

    @property
    def reads(self) -> str:
        """The topic."""
        return self.topic or topic_of(self.version)

    @property
    def dead_letter_topic(self) -> str:
        """The topic of dead letters."""
        return self.letters or f"{self.reads}-dead"


def source_options(job: JobOptions) -> dict[str, str]:
    """Of Spark's Kafka source, for a stream and for a batch."""
    return {
        "kafka.bootstrap.servers": job.bootstrap,
        "subscribe": job.reads,
        "includeHeaders": "true",
        **FETCHES,
        **job.source,
    }


def stream_options(job: JobOptions) -> dict[str, str]:
    """Where a stream begins, and how much it takes at once."""
    limits = {"maxOffsetsPerTrigger": job.offsets_per_batch, "minPartitions": job.least_partitions}
    return {
        "startingOffsets": "earliest",
        **{name: str(limit) for name, limit in limits.items() if limit},
        **source_options(job),
    }
