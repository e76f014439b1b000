"""What a producer says: the n-th record as a function of n, the same for the same seed."""

from __future__ import annotations

import importlib
import os
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from streambed.agents.producer.distribution import QUANTILES
from streambed.record.orders import ProducerMember, RecordsOrder

PLACEHOLDER = re.compile(rb"\{(record|topic|n)(?::([0-9]+))?\}")
DRAWN_AT_ONCE = 4096
SIZES_MAX = 10
"""Drawn sizes are at most so many times the mean."""
Headers = list[tuple[str, str | bytes | None]]
Record = tuple[bytes | None, bytes, Headers]


def contents_of(path: Path, content: str) -> list[bytes]:
    """What there is to send: the lines of a file, the file as a whole, or the files of a folder in
    the order of their names.
    """
    if content == "folder":
        found = [file.read_bytes() for file in sorted(path.iterdir()) if file.is_file()]
    else:
        found = [path.read_bytes()] if content == "whole" else path.read_bytes().splitlines()
    if not found:
        raise SystemExit(f"{path} has nothing to send")
    return found


def repeated(contents: list[bytes], key: str) -> Callable[[int], Record]:
    """The n-th record is the n-th content, over and over."""

    def of(sequence: int) -> Record:
        found = contents[sequence % len(contents)]
        before, tab, after = found.partition(b"\t")
        return (before, after, []) if key == "tab" and tab else (None, found, [])

    return of


def topics_of(topics: Sequence[str], order: str, *, seed: str, shift: int) -> Callable[[int], str]:
    """The topic of the n-th record: one after the other from the one at `shift` on, or drawn."""
    if len(topics) == 1:
        return lambda sequence: topics[0]
    if order == "turn":
        return lambda sequence: topics[(sequence + shift) % len(topics)]
    draw = Draws(f"{seed} topics")
    return lambda sequence: topics[int(draw(sequence) * len(topics))]


def filled(text: bytes, value: bytes, sequence: int, topic: str) -> bytes:
    """A text with {record}, {n}, {n:6} (with zeros, six digits) and {topic} filled in; other braces
    stay.
    """

    def fill(found: re.Match[bytes]) -> bytes:
        number = f"{sequence + 1:0{int(found[2] or 0)}}".encode()
        return {b"record": value, b"topic": topic.encode(), b"n": number}[found[1]]

    return PLACEHOLDER.sub(fill, text)


def worded(
    record_of: Callable[[int], Record],
    text: str,
    topic_of: Callable[[int], str],
    headers: Mapping[str, str] | None = None,
) -> Callable[[int], Record]:
    """Records that say `text`, if there is one, and have these headers; both are filled in."""
    named = {name: found.encode() for name, found in (headers or {}).items()}

    def of(sequence: int) -> Record:
        key, value, own = record_of(sequence)
        topic = topic_of(sequence)
        said = filled(text.encode(), value, sequence, topic) if text else value
        return (
            key,
            said,
            [
                *own,
                *((name, filled(found, value, sequence, topic)) for name, found in named.items()),
            ],
        )

    return of


class Draws:
    """The n-th number drawn between 0 and 1, whatever was asked for before; drawn many at once,
    because that is what costs.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._block = -1
        self._drawn: list[float] = []

    def __call__(self, sequence: int) -> float:
        """The n-th number."""
        block, at = divmod(sequence, DRAWN_AT_ONCE)
        if block != self._block:
            drawing = random.Random(f"{self._seed} {block}")
            self._block, self._drawn = block, [drawing.random() for _ in range(DRAWN_AT_ONCE)]
        return self._drawn[at]


def made_up_records(
    *, size: int, keys: int, spread: str, seed: str, sizes: str = "constant"
) -> Callable[[int], Record]:
    """Records of `size` bytes in the mean; the same seed gives the same record for the same
    sequence number.
    """
    body = random.Random(seed).randbytes(size if sizes == "constant" else size * SIZES_MAX)
    key_of = keys_of(keys, spread, seed)
    if sizes == "constant":
        return lambda sequence: (key_of(sequence), body, [])
    draw, quantile = Draws(f"{seed} sizes"), QUANTILES[sizes]
    return lambda sequence: (
        key_of(sequence),
        body[: max(1, round(size * quantile(draw(sequence))))],
        [],
    )


def keys_of(keys: int, spread: str, seed: str) -> Callable[[int], bytes | None]:
    """The key of the n-th record, if there are keys."""
    draw, quantile = Draws(f"{seed} keys"), QUANTILES["normal"]
    if not keys:
        return lambda sequence: None
    if spread == "zipf":
        return lambda sequence: (
            b"%d" % int(keys ** draw(sequence) - 1)
        )  # keys**u is log-uniform: Zipf with exponent 1.
    if spread == "normal":
        return lambda sequence: (
            b"%d" % min(keys - 1, max(0, int(keys / 2 * quantile(draw(sequence)))))
        )
    return lambda sequence: b"%d" % int(keys * draw(sequence))


def from_function(name: str, folder: str, seed: str) -> Callable[[int], Record]:
    """Records that a function of the user makes from a record's number, from 0 on, and a generator
    of random numbers.
    """
    module, _, function = name.partition(":")
    sys.path.insert(0, folder)
    make = getattr(importlib.import_module(module), function, None)
    if not callable(make):
        raise SystemExit(f"{module} has no function '{function}'")
    return lambda sequence: as_record(make(sequence, random.Random(f"{seed} {sequence}")), name)


def as_record(found: object, name: str) -> Record:
    """What a user's function gave: a value, key and value, or a mapping with `value` and perhaps
    `key` and `headers`.
    """
    if isinstance(found, tuple) and len(found) == 2:
        found = {"key": found[0], "value": found[1]}
    elif isinstance(found, (str, bytes)):
        found = {"value": found}
    if (
        not isinstance(found, Mapping)
        or "value" not in found
        or found.keys() - {"key", "value", "headers"}
    ):
        raise SystemExit(
            f"{name} gave {found!r}: it must give a value, (key, value) or a mapping with value, "
            "key and headers"
        )
    key = found.get("key")
    return (
        None if key is None else _bytes(key),
        _bytes(found["value"]),
        [(word, _bytes(of)) for word, of in found.get("headers", {}).items()],
    )


def _bytes(found: str | bytes) -> bytes:
    return found.encode() if isinstance(found, str) else bytes(found)


@dataclass(frozen=True, kw_only=True)
class Source:
    """The records of one producer by their numbers."""

    topics: Sequence[str]
    topic_of: Callable[[int], str]
    record_of: Callable[[int], Record]
    held: int
    """How much content its file has."""
    same: Record | None = None
    """What all of them are, if they are all alike: they need not be made one by one."""


def source_of(order: RecordsOrder, member: ProducerMember) -> Source:
    """The records of one producer."""
    contents = contents_of(Path(order.file), order.content) if order.file else []
    seed = f"{os.environ['STREAMBED_SEED']} {member.name}"
    record_of = repeated(contents, order.key) if contents else _made(order, seed)
    # Many producers that take turns begin at topics far apart: side by side they would all write to
    # a few topics at a time.
    shift = member.number * len(order.topics) // member.of
    topic_of = topics_of(order.topics, order.order, seed=seed, shift=shift)
    if order.text or order.headers:
        record_of = worded(record_of, order.text, topic_of, order.headers)
    source = Source(topics=order.topics, topic_of=topic_of, record_of=record_of, held=len(contents))
    if not _are_alike(order, len(contents)):
        return source
    same = record_of(0)
    return replace(source, record_of=lambda sequence: same, same=same)


def _are_alike(order: RecordsOrder, held: int) -> bool:
    """Whether nothing of a record depends on its number."""
    if order.text or order.headers:
        return False
    return held == 1 if held else not (order.function or order.keys) and order.sizes == "constant"


def _made(order: RecordsOrder, seed: str) -> Callable[[int], Record]:
    if order.function:
        return from_function(order.function, order.folder, seed)
    return made_up_records(
        size=order.size, sizes=order.sizes, keys=order.keys, spread=order.spread, seed=seed
    )
