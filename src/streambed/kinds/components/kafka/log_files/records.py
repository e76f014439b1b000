"""Records inside a batch, and the number formats that Kafka uses in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import unpack_from

from streambed.kinds.components.kafka.log_files.record_batches import RecordBatch


@dataclass(frozen=True, slots=True)
class Record:
    """One record: its key and value as bytes; None if it has none."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


class Cursor:
    """Reads Kafka's binary formats from bytes, one field after the other."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self._at >= len(self._content)

    def take(self, count: int) -> bytes:
        """The next bytes; ValueError if there are not as many."""
        end = self._at + count
        if count < 0 or end > len(self._content):
            raise ValueError(f"{count} bytes at {self._at} of {len(self._content)}")
        content, self._at = self._content[self._at : end], end
        return content

    def number(self, form: str, size: int) -> int:
        """A number of fixed size, in a format of `struct`."""
        (number,) = unpack_from(form, self.take(size))
        return int(number)

    def int8(self) -> int:
        """One byte."""
        return self.number(">b", 1)

    def int16(self) -> int:
        """Two bytes."""
        return self.number(">h", 2)

    def int32(self) -> int:
        """Four bytes."""
        return self.number(">i", 4)

    def int64(self) -> int:
        """Eight bytes."""
        return self.number(">q", 8)

    def unsigned_varint(self) -> int:
        """A number of variable length."""
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    def varint(self) -> int:
        """A signed number of variable length, in zigzag form."""
        number = self.unsigned_varint()
        return (number >> 1) ^ -(number & 1)

    def text(self) -> str:
        """A text with its length in two bytes; empty if it is null."""
        length = self.int16()
        return self.take(length).decode() if length > 0 else ""

    def compact_text(self) -> str:
        """A text with its length as a varint."""
        length = self.unsigned_varint() - 1
        return self.take(length).decode() if length > 0 else ""

    def compact_int32s(self) -> tuple[int, ...]:
        """An array of numbers with its length as a varint."""
        return tuple(self.int32() for _ in range(self.unsigned_varint() - 1))

    def tagged(self) -> dict[int, bytes]:
        """Optional fields by their tags."""
        fields = {}
        for _ in range(self.unsigned_varint()):
            tag = self.unsigned_varint()
            fields[tag] = self.take(self.unsigned_varint())
        return fields

    def sized(self) -> bytes | None:
        """Bytes with their length as a signed varint; None if it is negative."""
        length = self.varint()
        return None if length < 0 else self.take(length)


def records_of(batch: RecordBatch) -> Iterator[Record]:
    """The records of a batch that is not compressed."""
    body = Cursor(batch.body)
    for _ in range(batch.records):
        fields = Cursor(body.sized() or b"")
        fields.int8()  # Attributes of a record: unused.
        timestamp_ms = batch.first_timestamp_ms + fields.varint()
        offset = batch.first + fields.varint()
        yield Record(offset, timestamp_ms, fields.sized(), fields.sized())
