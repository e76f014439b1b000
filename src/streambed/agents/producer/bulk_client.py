"""A Kafka client that takes records one by one and tells what became of them by the thousand, as
columns.
"""

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

from streambed.agents.producer import librdkafka
from streambed.agents.producer.record_source import Headers, Record
from streambed.record import now_ns

WORDS = librdkafka.ARGUMENT_WORDS
TOPIC, VALUE, KEY, FLAGS, MARK, NAME = (WORDS * number for number in range(6))
"""Where the words of each argument of a record begin; those of its own headers come before them
all.
"""
ARGUMENTS = 6
AT_ONCE = 500
FLUSH_STEP_MS = 10
_header = Struct("=4q40x").pack
"""The words of one header, as an argument."""
Numbers = NDArray[np.int64]
Values = tuple[bytes | None, ...]


class Reports(NamedTuple):
    """What became of records, as columns: the marks they had, where they are, and the code of the
    error or 0; and when it was told.
    """

    at_ns: int
    marks: Numbers
    partitions: NDArray[np.int32]
    offsets: Numbers
    errors: NDArray[np.int32]


class Messages:
    """A part of the memory as an array, for numpy: the messages that begin at each of its words, of
    which only some do.
    """

    def __init__(self, address: int, words: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{librdkafka.MESSAGE_WORDS << librdkafka.WORD_SHIFT}",
            "shape": (words,),
            "strides": (1 << librdkafka.WORD_SHIFT,),
            "data": (address, True),
        }


class BulkClient:
    """One client. Every record has a header `name_header` whose bytes lie somewhere in memory, and
    a mark: a number to know it by.
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
        self._given = [_given(self._handle, row.ctypes.data, ARGUMENTS) for row in self._rows]

    def produce(self, record: Record, *, topic: int, mark: int, name: tuple[int, int]) -> None:
        """Hand over one record; BufferError if the client takes no more now. `name` is where its
        name lies, and its length.
        """
        key, value, headers = record
        words = self._words
        words[TOPIC + 1] = self._topics[topic]
        words[MARK + 1] = mark
        words[NAME + 2], words[NAME + 3] = name
        words[VALUE + 1], words[VALUE + 2] = librdkafka.place_of(value)
        words[KEY + 1], words[KEY + 2] = librdkafka.place_of(key)
        error = self._produce_with(headers) if headers else librdkafka.produce(*self._given[0])
        if error is not None:
            _refuse(error)

    def _produce_with(self, headers: Headers) -> int | None:
        """The record has headers of its own, which come first."""
        encoded = [
            (name.encode(), value.encode() if isinstance(value, str) else value)
            for name, value in headers
        ]
        own = (
            _header(librdkafka.HEADER, librdkafka.place_of(name)[0], *librdkafka.place_of(value))
            for name, value in encoded
        )
        row = b"".join([*own, self._words])
        error: int | None = librdkafka.produce(
            *_given(self._handle, librdkafka.place_of(row)[0], ARGUMENTS + len(headers))
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
        """Hand over at most `AT_ONCE` records without headers of their own; how many it took before
        one that it did not take.
        """
        count = len(values)
        rows = self._rows[:count]
        rows[:, TOPIC + 1] = self._handles[topics]
        rows[:, MARK + 1] = marks
        rows[:, NAME + 2], rows[:, NAME + 3] = names
        rows[:, VALUE + 1], rows[:, VALUE + 2] = librdkafka.places_of(values)
        rows[:, KEY + 1], rows[:, KEY + 2] = librdkafka.places_of(keys)
        given = iter(self._given[:count])
        # No line of Python is run for a record: all are handed over by what is behind these two, up
        # to the first error.
        error = next(filter(None, starmap(librdkafka.produce, given)), None)
        if error is None:
            return count
        librdkafka.error_destroy(error)
        return count - length_hint(given) - 1

    def reports(self, wait_s: float) -> Iterator[Reports]:
        """All that there is to report; wait so long for the first."""
        wait_ms = int(wait_s * 1000)
        while event := librdkafka.poll(self._queue, wait_ms):
            wait_ms = 0
            count = librdkafka.event_count(event)
            if count:
                yield _reports_of(event, count)
            librdkafka.event_destroy(event)

    def hurry(self) -> None:
        """Send what waits for more, and wait a moment."""
        librdkafka.flush(self._handle, FLUSH_STEP_MS)

    def purge(self) -> None:
        """Give up all that is under way; the reports say so."""
        librdkafka.purge(self._handle, librdkafka.PURGE_ALL)

    def knows_topics(self, wait_s: float) -> bool:
        """Whether it knows the partitions of all topics, or learns of them in that time; several
        topics are one question about all.
        """
        found = ctypes.POINTER(librdkafka.Metadata)()
        only = self._topics[0] if len(self._topics) == 1 else None
        if librdkafka.metadata(
            self._handle, only is None, only, ctypes.byref(found), int(wait_s * 1000)
        ):
            return False
        listed = found.contents
        known = {
            listed.topics[number].topic.decode()
            for number in range(listed.topic_count)
            if listed.topics[number].partition_count
        }
        librdkafka.metadata_destroy(found)
        return known.issuperset(self._names)


def _given(handle: int, row: int, arguments: int) -> tuple[Any, Any, Any]:
    """What the library takes: a record's arguments, made ready so that nothing is to be converted
    when it is called.
    """
    pointer = ctypes.c_void_p.from_param
    return pointer(handle), pointer(row), ctypes.c_size_t.from_param(arguments)


def _rows(header: int, topic: int) -> Numbers:
    """The arguments of many records, with all that never changes."""
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
    """Words of all messages of an event at once: a look at each in turn would take most of a
    record's time.
    """
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
    return Reports(
        at_ns,
        marks=words[:, librdkafka.MARKED],
        partitions=words[:, librdkafka.PARTITION].astype(np.int32),
        offsets=words[:, librdkafka.OFFSET],
        errors=words[:, librdkafka.ERR].astype(np.int32),
    )


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
