"""Why a Spark job failed, as its driver reports it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streambed.errors import FormatError, suggestion
from streambed.kinds.components.broker import brokers_among
from streambed.kinds.declared_components import Components
from streambed.record import codec, file_name


@dataclass(frozen=True, kw_only=True)
class JobFailure:
    """The last cause of the exception that ended a job; agents/spark_driver.py writes it."""

    exception: str
    """The Java class."""
    message: str
    unknown_topics: tuple[str, ...] = ()
    """The topics that the job subscribes to, if Kafka does not know one of them."""


def failure_of(directory: Path, process: str) -> JobFailure | None:
    """The failure that a driver reported; None if it reported none."""
    path = directory / "failures" / f"{file_name(process)}.json"
    try:
        return codec.read_message(path, JobFailure)
    except (FileNotFoundError, FormatError):
        return None  # The driver may have been killed while it wrote.


def failure_text(failure: JobFailure, reads: tuple[str, ...], components: Components) -> str:
    """The cause for people, and what to do about it if that is known."""
    brokers = brokers_among(components).values()
    declared = [topic for broker in brokers for topic in broker.partitions]
    unknown = [topic for topic in failure.unknown_topics if topic not in declared]
    if not unknown:
        return f"{failure.exception.rpartition('.')[2]}: {failure.message}"
    names = ", ".join(f"'{topic}'" for topic in unknown)
    says = f"the job subscribes to {names}, and no topic of that name is declared"
    if reads:
        return f"{says}; it declares `reads: {', '.join(reads)}`"
    return f"{says}. {suggestion(unknown[0], declared)}"
