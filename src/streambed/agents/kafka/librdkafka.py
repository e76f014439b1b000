"""Direct calls into the librdkafka that confluent-kafka has loaded, to handle records in bulk.

We use only the library's public header, which keeps both layouts for a whole major version (words
of eight bytes):

            0          1        2          3        4        5        6        7        8
message     err (32)   topic    partition  payload  length   key      length   offset   mark
argument    kind (32)  value, or pointer and length, or name, pointer and length; then padding

(32), and partition too: the lower half of the word; the upper half is padding.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_void_p
from typing import Any

import numpy as np
from confluent_kafka import cimpl
from numpy.typing import NDArray

MAJOR = 2
WORD_SHIFT = 3
ARGUMENT_WORDS = MESSAGE_WORDS = 9
TOPIC, VALUE, KEY, MARK, FLAGS, HEADER = 2, 4, 5, 6, 7, 9
"""Kinds of arguments; a topic is passed as its handle."""
COPY = 2
"""The flag that makes the client copy the bytes of a record."""
ERR, PARTITION, OFFSET, MARKED = 0, 2, 7, 8
"""Words of a message."""
QUEUE_FULL = -184
PRODUCER, DELIVERY_REPORTS, ERRORS = 0, 0x1, 0x8
PURGE_ALL = 0x1 | 0x2
NOT_PERSISTED, POSSIBLY_PERSISTED, PERSISTED = range(3)
"""What the client knows of a message: its status."""
_TEXT_BYTES = 512
Numbers = NDArray[np.int64]


class MetadataTopic(ctypes.Structure):
    """The brokers' metadata of one topic."""

    _fields_ = [
        ("topic", c_char_p),
        ("partition_count", c_int),
        ("partitions", c_void_p),
        ("error", c_int),
    ]


class Metadata(ctypes.Structure):
    """The brokers' metadata."""

    _fields_ = [
        ("broker_count", c_int),
        ("brokers", c_void_p),
        ("topic_count", c_int),
        ("topics", POINTER(MetadataTopic)),
        ("from_broker", c_int),
        ("from_name", c_char_p),
    ]


# A lookup in confluent-kafka's module also finds the functions of librdkafka, which it depends on.
_holding = ctypes.PyDLL(cimpl.__file__)
"""For short calls: releasing and taking the interpreter lock would cost more than they do."""
_waiting = ctypes.CDLL(cimpl.__file__)
"""For calls that may wait: they release the interpreter lock."""


def _function(library: ctypes.CDLL, name: str, gives: Any, *takes: Any) -> Any:
    function = getattr(library, f"rd_kafka_{name}")
    function.restype = gives
    function.argtypes = takes or None
    return function


_BYTES_AT = bytes.__basicsize__ - 1
"""Offset of the content in a bytes object of CPython."""


def address_of(content: bytes | None) -> tuple[int, int]:
    """Address and length of bytes, valid as long as the object lives; (0, 0) for None."""
    return (0, 0) if content is None else (id(content) + _BYTES_AT, len(content))


def addresses_of(contents: Sequence[bytes | None]) -> tuple[Numbers | int, Numbers | int]:
    """Addresses and lengths of several; often they are all the same object."""
    if contents.count(contents[0]) == len(contents):
        return address_of(contents[0])
    present = [content for content in contents if content is not None]
    count = len(present)
    if count < len(contents):
        addresses, lengths = zip(*map(address_of, contents), strict=True)
        return np.array(addresses), np.array(lengths)
    ids = np.fromiter(map(id, present), np.int64, count)
    return ids + _BYTES_AT, np.fromiter(map(len, present), np.int64, count)


def check_version(version: int) -> None:
    """Refuse a library with unknown layouts."""
    if version >> 24 != MAJOR:
        raise SystemExit(
            f"confluent-kafka has brought librdkafka {version >> 24}; the ledger needs {MAJOR}: "
            "install confluent-kafka 2"
        )


assert ctypes.string_at(*address_of(b"as CPython keeps them")) == b"as CPython keeps them"
check_version(_function(_holding, "version", c_int)())

produce = _function(_holding, "produceva", c_void_p)
"""Takes arguments that are already ctypes parameters. Returns an error or None."""
error_code = _function(_holding, "error_code", c_int, c_void_p)
error_destroy = _function(_holding, "error_destroy", None, c_void_p)
poll = _function(_waiting, "queue_poll", c_void_p, c_void_p, c_int)
event_messages = _function(_holding, "event_message_array", c_size_t, c_void_p, c_void_p, c_size_t)
event_count = _function(_holding, "event_message_count", c_size_t, c_void_p)
message_status = _function(_holding, "message_status", c_int, c_void_p)
event_destroy = _function(_holding, "event_destroy", None, c_void_p)
flush = _function(_waiting, "flush", c_int, c_void_p, c_int)
purge = _function(_waiting, "purge", c_int, c_void_p, c_int)
topic_handle = _function(_holding, "topic_new", c_void_p, c_void_p, c_char_p, c_void_p)
topic_destroy = _function(_holding, "topic_destroy", None, c_void_p)
main_queue = _function(_holding, "queue_get_main", c_void_p, c_void_p)
queue_destroy = _function(_holding, "queue_destroy", None, c_void_p)
destroy = _function(_waiting, "destroy", None, c_void_p)
metadata = _function(
    _waiting, "metadata", c_int, c_void_p, c_int, c_void_p, POINTER(POINTER(Metadata)), c_int
)
metadata_destroy = _function(_holding, "metadata_destroy", None, POINTER(Metadata))
_conf_new = _function(_holding, "conf_new", c_void_p)
_conf_set = _function(_holding, "conf_set", c_int, c_void_p, c_char_p, c_char_p, c_char_p, c_size_t)
_conf_set_events = _function(_holding, "conf_set_events", None, c_void_p, c_int)
_conf_destroy = _function(_holding, "conf_destroy", None, c_void_p)
_new = _function(_waiting, "new", c_void_p, c_int, c_void_p, c_char_p, c_size_t)


def producer(settings: Mapping[str, object]) -> int:
    """A client whose delivery reports are events; its threads stay in the caller's network."""
    conf, text = _conf_new(), ctypes.create_string_buffer(_TEXT_BYTES)
    for key, value in settings.items():
        if _conf_set(conf, key.encode(), str(value).encode(), text, _TEXT_BYTES):
            _conf_destroy(conf)
            raise SystemExit(f"a Kafka client cannot have {key}: {value}: {text.value.decode()}")
    # Take errors as events, or librdkafka prints them. Those that matter are in the reports too.
    _conf_set_events(conf, DELIVERY_REPORTS | ERRORS)
    handle: int | None = _new(PRODUCER, conf, text, _TEXT_BYTES)
    if handle is None:
        _conf_destroy(conf)
        raise SystemExit(f"a Kafka client cannot be made: {text.value.decode()}")
    return handle
