"""librdkafka itself, the very one that confluent-kafka has loaded: for what that offers only
record by record.

All that is used is in the library's public header, which keeps both layouts for a whole major
version (words of eight bytes):

            0          1        2          3        4        5        6        7        8
message     err (32)   topic    partition  payload  length   key      length   offset   mark
argument    kind (32)  value, or pointer and length, or name, pointer and length; the rest is
padding
                                (32: the lower half of the word, the other is padding; partition is such a word, too)
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
"""Kinds of arguments; a topic is given by its handle."""
COPY = 2
"""The flag of a record whose bytes the client copies at once."""
ERR, PARTITION, OFFSET, MARKED = 0, 2, 7, 8
"""Words of a message."""
QUEUE_FULL = -184
PRODUCER, DELIVERY_REPORTS, ERRORS = 0, 0x1, 0x8
PURGE_ALL = 0x1 | 0x2
_TEXT_BYTES = 512
Numbers = NDArray[np.int64]


class MetadataTopic(ctypes.Structure):
    """What the brokers say of a topic."""

    _fields_ = [
        ("topic", c_char_p),
        ("partition_count", c_int),
        ("partitions", c_void_p),
        ("error", c_int),
    ]


class Metadata(ctypes.Structure):
    """What the brokers say of topics."""

    _fields_ = [
        ("broker_count", c_int),
        ("brokers", c_void_p),
        ("topic_count", c_int),
        ("topics", POINTER(MetadataTopic)),
        ("from_broker", c_int),
        ("from_name", c_char_p),
    ]


# The library behind confluent-kafka's own: whoever looks for a function in that finds it in those
# that it needs, too.
_holding = ctypes.PyDLL(cimpl.__file__)
"""Calls that are over at once: to let go of the interpreter and to take it again would cost more
than they do.
"""
_waiting = ctypes.CDLL(cimpl.__file__)
"""Calls that may wait."""


def _function(library: ctypes.CDLL, name: str, gives: Any, *takes: Any) -> Any:
    function = getattr(library, f"rd_kafka_{name}")
    function.restype = gives
    function.argtypes = takes or None
    return function


_BYTES_AT = bytes.__basicsize__ - 1
"""Where in an object the bytes begin."""


def place_of(found: bytes | None) -> tuple[int, int]:
    """Where bytes lie in memory as long as they live, and how many they are; None is nowhere."""
    return (0, 0) if found is None else (id(found) + _BYTES_AT, len(found))


def places_of(found: Sequence[bytes | None]) -> tuple[Numbers | int, Numbers | int]:
    """Where each of them lies, and how many bytes it has; often they are all the same."""
    if found.count(found[0]) == len(found):
        return place_of(found[0])
    there = [each for each in found if each is not None]
    if len(there) < len(found):
        addresses, lengths = zip(*map(place_of, found), strict=True)
        return np.array(addresses), np.array(lengths)
    return np.fromiter(map(id, there), np.int64, len(there)) + _BYTES_AT, np.fromiter(
        map(len, there), np.int64, len(there)
    )


def check_version(found: int) -> None:
    """Refuse a library whose layouts are not known."""
    if found >> 24 != MAJOR:
        raise SystemExit(
            f"confluent-kafka has brought librdkafka {found >> 24}; the ledger needs {MAJOR}: "
            "install confluent-kafka 2"
        )


assert ctypes.string_at(*place_of(b"as CPython keeps them")) == b"as CPython keeps them"
check_version(_function(_holding, "version", c_int)())

produce = _function(_holding, "produceva", c_void_p)
"""Arguments are not converted: they are given as ctypes passes them on. Gives an error or None."""
error_code = _function(_holding, "error_code", c_int, c_void_p)
error_destroy = _function(_holding, "error_destroy", None, c_void_p)
poll = _function(_waiting, "queue_poll", c_void_p, c_void_p, c_int)
event_messages = _function(_holding, "event_message_array", c_size_t, c_void_p, c_void_p, c_size_t)
event_count = _function(_holding, "event_message_count", c_size_t, c_void_p)
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
    """A client whose delivery reports are events; its own threads stay in the network of the
    calling one.
    """
    conf, text = _conf_new(), ctypes.create_string_buffer(_TEXT_BYTES)
    for key, value in settings.items():
        if _conf_set(conf, key.encode(), str(value).encode(), text, _TEXT_BYTES):
            _conf_destroy(conf)
            raise SystemExit(f"a Kafka client cannot have {key}: {value}: {text.value.decode()}")
    # Whoever does not take errors as events gets them on the standard error: of those that matter,
    # reports speak, too.
    _conf_set_events(conf, DELIVERY_REPORTS | ERRORS)
    made: int | None = _new(PRODUCER, conf, text, _TEXT_BYTES)
    if made is None:
        _conf_destroy(conf)
        raise SystemExit(f"a Kafka client cannot be made: {text.value.decode()}")
    return made
