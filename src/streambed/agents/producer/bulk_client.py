"""A Kafka client that takes records in bulk and reports their delivery as columns."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from operator import length_hint
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from confluent_kafka import KafkaError, KafkaException
from numpy.typing import NDArray

from streambed.agents.kafka import librdkafka
from streambed.agents.producer.record_source import Headers, Record
from streambed.record import now_ns

WORDS = librdkafka.ARGUMENT_WORDS
TOPIC, VALUE, KEY, FLAGS, MARK, NAME = (WORDS * number for number in range(6))
"""The first word of each argument of a record; its own headers come before all of them."""
ARGUMENTS = 6
AT_ONCE = 500
FLUSH_STEP_MS = 10
_header = Struct("=4q40x").pack
"""The words of one header, as an argument."""
Numbers = NDArray[np.int64]
Values = tuple[bytes | None, ...]


class Reports(NamedTuple):
    """Delivery reports as columns: marks, partitions, offsets, error codes (0: delivered) and the
    client's status of the message.
    """

    at_ns: int
    marks: Numbers
    partitions: NDArray[np.int32]
    offsets: Numbers
    errors: NDArray[np.int32]
    statuses: NDArray[np.int32]


class Messages:
    """Memory as an array for numpy: one message at each word. Only some words start a real one."""

    def __init__(self, address: int, words: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{librdkafka.MESSAGE_WORDS << librdkafka.WORD_SHIFT}",
            "shape": (words,),
            "strides": (1 << librdkafka.WORD_SHIFT,),
            "data": (address, True),
        }


class BulkClient:
    """One client. Every record has a header `name_header`, given by address, and a mark: a number
    that identifies it in the reports.
    """

    def __init__(
        self, settings: Mapping[str, object], topics: Sequence[str], *, name_header: str
    ) -> None:
        self._handle = librdkafka.producer(settings)
        self._queue = librdkafka.main_queue(self._handle)
        self._topics = [
            librdkafka.topic_handle(self._handle, topic.encode(), None) for topic in topics
        ]
        weakref.finalize(self, _end, self._handle, self._queue, self._topics)
        self._handles = np.array(self._topics, np.int64)
        self._names = list(topics)
        self._header = ctypes.create_string_buffer(name_header.encode())
        self._rows = _rows(ctypes.addressof(self._header), self._topics[0])
        self._words = self._rows[0].data
        self._parameters = [
            _parameters_of(self._handle, row.ctypes.data, ARGUMENTS) for row in self._rows
        ]

    def produce(self, record: Record, *, topic: int, mark: int, name: tuple[int, int]) -> None:
        """Hand over one record; BufferError if the queue is full. `name` is address and length."""
        key, value, headers = record
        words = self._words
        words[TOPIC + 1] = self._topics[topic]
        words[MARK + 1] = mark
        words[NAME + 2], words[NAME + 3] = name
        words[VALUE + 1], words[VALUE + 2] = librdkafka.address_of(value)
        words[KEY + 1], words[KEY + 2] = librdkafka.address_of(key)
        error = self._produce_with(headers) if headers else librdkafka.produce(*self._parameters[0])
        if error is not None:
            _refuse(error)

    def _produce_with(self, headers: Headers) -> int | None:
        """Hand over a record whose own headers come first."""
        encoded = [
            (name.encode(), value.encode() if isinstance(value, str) else value)
            for name, value in headers
        ]
        own = (
            _header(
                librdkafka.HEADER, librdkafka.address_of(name)[0], *librdkafka.address_of(value)
            )
            for name, value in encoded
        )
        row = b"".join([*own, self._words])
        error: int | None = librdkafka.produce(
            *_parameters_of(self._handle, librdkafka.address_of(row)[0], ARGUMENTS + len(headers))
        )
        return error

    def produce_many(
        self,
        keys: Values,
        values: Values,
        *,
        topics: Numbers | int,
        marks: Numbers,
        names: tuple[Numbers, int],
    ) -> int:
        """Hand over at most `AT_ONCE` records without own headers.

        Returns how many were taken before the first that was refused.
        """
        count = len(values)
        rows = self._rows[:count]
        rows[:, TOPIC + 1] = self._handles[topics]
        rows[:, MARK + 1] = marks
        rows[:, NAME + 2], rows[:, NAME + 3] = names
        rows[:, VALUE + 1], rows[:, VALUE + 2] = librdkafka.addresses_of(values)
        rows[:, KEY + 1], rows[:, KEY + 2] = librdkafka.addresses_of(keys)
        parameters = iter(self._parameters[:count])
        # No Python line runs per record: these two call the library up to the first error.
        error = next(filter(None, starmap(librdkafka.produce, parameters)), None)
        if error is None:
            return count
        librdkafka.error_destroy(error)
        return count - length_hint(parameters) - 1

    def reports(self, wait_s: float) -> Iterator[Reports]:
        """All available reports; wait up to `wait_s` for the first."""
        wait_ms = int(wait_s * 1000)
        while event := librdkafka.poll(self._queue, wait_ms):
            wait_ms = 0
            count = librdkafka.event_count(event)
            if count:
                yield _reports_of(event, count)
            librdkafka.event_destroy(event)

    def hurry(self) -> None:
        """Send batches that wait for more records, and wait a moment."""
        librdkafka.flush(self._handle, FLUSH_STEP_MS)

    def purge(self) -> None:
        """Drop all records in flight; they are reported as failed."""
        librdkafka.purge(self._handle, librdkafka.PURGE_ALL)

    def knows_topics(self, wait_s: float) -> bool:
        """Whether it learns the partitions of all topics within `wait_s`.

        For several topics it asks once for all topics of the cluster.
        """
        pointer = ctypes.POINTER(librdkafka.Metadata)()
        only = self._topics[0] if len(self._topics) == 1 else None
        error = librdkafka.metadata(
            self._handle, only is None, only, ctypes.byref(pointer), int(wait_s * 1000)
        )
        if error:
            return False
        metadata = pointer.contents
        topics = [metadata.topics[number] for number in range(metadata.topic_count)]
        known = {topic.topic.decode() for topic in topics if topic.partition_count}
        librdkafka.metadata_destroy(pointer)
        return known.issuperset(self._names)


def _parameters_of(handle: int, row: int, arguments: int) -> tuple[Any, Any, Any]:
    """The parameters of one call of `produce`, already converted for ctypes."""
    pointer = ctypes.c_void_p.from_param
    return pointer(handle), pointer(row), ctypes.c_size_t.from_param(arguments)


def _rows(header: int, topic: int) -> Numbers:
    """The arguments of many records, with all constant words set."""
    rows = np.zeros((AT_ONCE, ARGUMENTS * WORDS), np.int64)
    kinds = (
        librdkafka.TOPIC,
        librdkafka.VALUE,
        librdkafka.KEY,
        librdkafka.FLAGS,
        librdkafka.MARK,
        librdkafka.HEADER,
    )
    rows[:, ::WORDS] = kinds
    rows[:, TOPIC + 1] = topic
    rows[:, FLAGS + 1] = librdkafka.COPY
    rows[:, NAME + 1] = header
    return rows


def _reports_of(event: int, count: int) -> Reports:
    """Read the words of all messages of an event at once: one by one takes too long."""
    at_ns = now_ns()
    pointers = np.empty(count, np.int64)
    librdkafka.event_messages(event, pointers.ctypes.data, count)
    first = int(pointers.min())
    at = (pointers - first) >> librdkafka.WORD_SHIFT
    words = (
        np.asarray(Messages(first, int(at.max()) + 1))[at]
        .view(np.int64)
        .reshape(count, librdkafka.MESSAGE_WORDS)
    )
    errors = words[:, librdkafka.ERR].astype(np.int32)
    return Reports(
        at_ns,
        marks=words[:, librdkafka.MARKED],
        partitions=words[:, librdkafka.PARTITION].astype(np.int32),
        offsets=words[:, librdkafka.OFFSET],
        errors=errors,
        statuses=_statuses_of(pointers, errors),
    )


def _statuses_of(pointers: Numbers, errors: NDArray[np.int32]) -> NDArray[np.int32]:
    """The status of each message; only those of failed ones are asked for."""
    statuses = np.full(len(errors), librdkafka.PERSISTED, np.int32)
    for at in np.flatnonzero(errors).tolist():
        statuses[at] = librdkafka.message_status(int(pointers[at]))
    return statuses


def _refuse(error: int) -> None:
    code = librdkafka.error_code(error)
    librdkafka.error_destroy(error)
    if code == librdkafka.QUEUE_FULL:
        raise BufferError
    raise KafkaException(KafkaError(code))


def _end(handle: int, queue: int, topics: list[Any]) -> None:
    for topic in topics:
        librdkafka.topic_destroy(topic)
    librdkafka.queue_destroy(queue)
    librdkafka.destroy(handle)
