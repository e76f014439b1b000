"""A Kafka client that takes records one by one and tells what became of them by the thousand, as columns."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from confluent_kafka import KafkaError, KafkaException
from numpy.typing import NDArray

from streambed.agents import librdkafka
from streambed.agents.record_source import Headers
from streambed.record import now_ns

WORDS = librdkafka.ARGUMENT_WORDS
TOPIC, VALUE, KEY, FLAGS, MARK, NAME = (WORDS * number for number in range(6))
"""Where the words of each argument of a record begin; those of its own headers come before them all."""
ARGUMENTS = 6
FLUSH_STEP_MS = 10
Numbers = NDArray[np.int64]


class Reports(NamedTuple):
    """What became of records, as columns: the marks they had, where they are, and the code of the error or 0; and when it was told."""

    at_ns: int
    marks: Numbers
    partitions: NDArray[np.int32]
    offsets: Numbers
    errors: NDArray[np.int32]


class Window:
    """A part of the memory as an array of words, for numpy."""

    def __init__(self, address: int, words: int) -> None:
        self.__array_interface__ = {"version": 3, "typestr": "=i8", "shape": (words,), "data": (address, True)}


class BulkClient:
    """One client. Every record has a header `name_header` whose bytes lie somewhere in memory, and a mark: a number to know it by."""

    def __init__(self, settings: Mapping[str, object], topics: Sequence[str], *, name_header: str) -> None:
        self._handle = librdkafka.producer(settings)
        self._queue = librdkafka.main_queue(self._handle)
        self._topics = [librdkafka.topic_handle(self._handle, topic.encode(), None) for topic in topics]
        weakref.finalize(self, _end, self._handle, self._queue, self._topics)
        self._names = list(topics)
        self._header = name_header.encode()
        memory = (ctypes.c_int64 * (WORDS * ARGUMENTS))()
        self._pointers = (ctypes.c_char_p * len(memory)).from_buffer(memory)
        self._words = memoryview(memory).cast("B").cast("q")
        self._memory = memory
        kinds = (librdkafka.TOPIC, librdkafka.VALUE, librdkafka.KEY, librdkafka.FLAGS, librdkafka.MARK, librdkafka.HEADER)
        for at, kind in zip((TOPIC, VALUE, KEY, FLAGS, MARK, NAME), kinds, strict=True):
            self._words[at] = kind
        self._words[FLAGS + 1] = librdkafka.COPY
        self._pointers[NAME + 1] = self._header
        self._key: bytes | None = None
        self._value: bytes | None = None
        self._given = (
            ctypes.c_void_p.from_param(self._handle),
            ctypes.c_void_p.from_param(ctypes.addressof(memory)),
            ctypes.c_size_t.from_param(ARGUMENTS),
        )

    def set_topic(self, number: int) -> None:
        """The next records go to the topic of that number."""
        self._words[TOPIC + 1] = self._topics[number]

    def set_name_width(self, width: int) -> None:
        """The names of the next records have so many bytes."""
        self._words[NAME + 3] = width

    def produce(self, key: bytes | None, value: bytes, headers: Headers, mark: int, name: int) -> None:
        """Hand over one record; BufferError if the client takes no more now. `name` is the address of its name."""
        words = self._words
        words[MARK + 1] = mark
        words[NAME + 2] = name
        # The same bytes as before are there already.
        if value is not self._value:
            self._value = self._pointers[VALUE + 1] = value
            words[VALUE + 2] = len(value)
        if key is not self._key:
            self._key = self._pointers[KEY + 1] = key
            words[KEY + 2] = len(key or b"")
        error = librdkafka.produce(*self._given) if not headers else self._produce_with(headers)
        if error is not None:
            _refuse(error)

    def _produce_with(self, headers: Headers) -> int | None:
        """The record has headers of its own."""
        own = WORDS * len(headers)
        memory = (ctypes.c_int64 * (own + len(self._memory)))()
        pointers = (ctypes.c_char_p * len(memory)).from_buffer(memory)
        for at, (name, found) in zip(range(0, own, WORDS), headers, strict=True):
            value = found.encode() if isinstance(found, str) else found
            memory[at] = librdkafka.HEADER
            pointers[at + 1], pointers[at + 2] = name.encode(), value
            memory[at + 3] = len(value or b"")
        ctypes.memmove(ctypes.byref(memory, own * librdkafka.WORD_BYTES), self._memory, ctypes.sizeof(self._memory))
        error: int | None = librdkafka.produce(self._given[0], ctypes.byref(memory), ctypes.c_size_t.from_param(ARGUMENTS + len(headers)))
        return error

    def reports(self, wait_s: float) -> Iterator[Reports]:
        """All that there is to report; wait so long for the first."""
        wait_ms = int(wait_s * 1000)
        while event := librdkafka.poll(self._queue, wait_ms):
            wait_ms = 0
            count = librdkafka.event_count(event)
            if count:
                yield _reports_of(event, count)
            librdkafka.event_destroy(event)

    def __len__(self) -> int:
        return int(librdkafka.open_count(self._handle))

    def hurry(self) -> None:
        """Send what waits for more, and wait a moment."""
        librdkafka.flush(self._handle, FLUSH_STEP_MS)

    def purge(self) -> None:
        """Give up all that is under way; the reports say so."""
        librdkafka.purge(self._handle, librdkafka.PURGE_ALL)

    def knows_topics(self, wait_s: float) -> bool:
        """Whether it knows the partitions of all topics, or learns of them in that time; several topics are one question about all."""
        found = ctypes.POINTER(librdkafka.Metadata)()
        only = self._topics[0] if len(self._topics) == 1 else None
        if librdkafka.metadata(self._handle, only is None, only, ctypes.byref(found), int(wait_s * 1000)):
            return False
        listed = found.contents
        known = {listed.topics[number].topic.decode() for number in range(listed.topic_count) if listed.topics[number].partition_count}
        librdkafka.metadata_destroy(found)
        return known.issuperset(self._names)


def _reports_of(event: int, count: int) -> Reports:
    """Words of all messages of an event at once: a look at each in turn would take most of a record's time."""
    at_ns = now_ns()
    pointers = np.empty(count, np.int64)
    librdkafka.event_messages(event, pointers.ctypes.data, count)
    first = int(pointers.min())
    at = (pointers - first) // librdkafka.WORD_BYTES
    words = np.asarray(Window(first, int(at.max()) + WORDS))
    partitions, errors = (words[at + word].astype(np.int32) for word in (librdkafka.PARTITION, librdkafka.ERR))
    return Reports(at_ns, words[at + librdkafka.MARKED], partitions, words[at + librdkafka.OFFSET], errors)


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
