"""Record batches in the segment files of a broker, by their headers."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

HEADER = Struct(">qiibIhiqqqhii")
"""First offset, length, leader epoch, magic, checksum, attributes, last offset delta, first and
last timestamp, producer's id and epoch, first sequence, number of records."""
LENGTH_COVERS_FROM = 12
"""The length counts the bytes after itself."""
MAGIC = 2
COMPRESSION, TRANSACTIONAL, CONTROL = 0x07, 0x10, 0x20


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """One batch of records as a broker stored it."""

    first: int
    last: int
    """The offsets of its first and its last record."""
    epoch: int
    """The leader epoch in which it was appended."""
    checksum: int
    attributes: int
    records: int
    first_timestamp_ms: int
    last_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    first_sequence: int
    body: bytes
    """Its records; empty unless they were asked for."""

    @property
    def transactional(self) -> bool:
        """Whether it belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def control(self) -> bool:
        """Whether it holds a marker instead of records."""
        return bool(self.attributes & CONTROL)

    @property
    def compressed(self) -> bool:
        """Whether its records are compressed."""
        return bool(self.attributes & COMPRESSION)


def batches_in(folder: Path, *, bodies: bool = False) -> Iterator[RecordBatch]:
    """All batches of a partition's folder, in order of offsets.

    With `bodies` every batch has its records, without it only a control batch has.
    A segment ends at the first batch that is not whole: a killed broker may have been writing it.
    """
    for path in sorted(folder.glob("*.log")):
        if path.stat().st_size == 0:
            continue
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            yield from _batches(content, bodies=bodies)


def _batches(content: mmap.mmap, *, bodies: bool) -> Iterator[RecordBatch]:
    start, size = 0, len(content)
    while start + HEADER.size <= size:
        fields = HEADER.unpack_from(content, start)
        first, length, epoch, magic, checksum, attributes, last_delta = fields[:7]
        end = start + LENGTH_COVERS_FROM + length
        # Kafka allocates segments ahead: zeros follow the last batch.
        if magic != MAGIC or end > size or end < start + HEADER.size:
            return
        wanted = bodies or attributes & CONTROL
        body = content[start + HEADER.size : end] if wanted else b""
        first_ms, last_ms, producer_id, producer_epoch, sequence, count = fields[7:]
        yield RecordBatch(
            first=first,
            last=first + last_delta,
            epoch=epoch,
            checksum=checksum,
            attributes=attributes,
            records=count,
            first_timestamp_ms=first_ms,
            last_timestamp_ms=last_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            first_sequence=sequence,
            body=body,
        )
        start = end
