"""A producer's records: the n-th record as a function of n, the same for the same seed."""

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
"""Random sizes are at most this many times the mean."""
Headers = list[tuple[str, str | bytes | None]]
Record = tuple[bytes | None, bytes, Headers]


def contents_of(path: Path, content: str) -> list[bytes]:
    """The lines of a file, the whole file, or the files of a folder by name."""
    if content == "folder":
        contents = [file.read_bytes() for file in sorted(path.iterdir()) if file.is_file()]
    elif content == "whole":
        contents = [path.read_bytes()]
    else:
        contents = path.read_bytes().splitlines()
    if not contents:
        raise SystemExit(f"{path} has nothing to send")
    return contents


def repeat_contents(contents: list[bytes], key: str) -> Callable[[int], Record]:
    """The n-th record is the n-th content, over and over."""

    def of(sequence: int) -> Record:
        content = contents[sequence % len(contents)]
        before, tab, after = content.partition(b"\t")
        return (before, after, []) if key == "tab" and tab else (None, content, [])

    return of


def topics_of(topics: Sequence[str], order: str, *, seed: str, shift: int) -> Callable[[int], str]:
    """The topic of the n-th record: one after the other from the one at `shift` on, or drawn."""
    if len(topics) == 1:
        return lambda sequence: topics[0]
    if order == "turn":
        return lambda sequence: topics[(sequence + shift) % len(topics)]
    draw = Draws(f"{seed} topics")
    return lambda sequence: topics[int(draw(sequence) * len(topics))]


def fill_placeholders(text: bytes, value: bytes, sequence: int, topic: str) -> bytes:
    """Replace {record}, {n}, {n:6} (six digits, with zeros) and {topic}; other braces stay."""

    def fill(match: re.Match[bytes]) -> bytes:
        number = f"{sequence + 1:0{int(match[2] or 0)}}".encode()
        return {b"record": value, b"topic": topic.encode(), b"n": number}[match[1]]

    return PLACEHOLDER.sub(fill, text)


def add_text_and_headers(
    record_of: Callable[[int], Record],
    text: str,
    topic_of: Callable[[int], str],
    headers: Mapping[str, str] | None = None,
) -> Callable[[int], Record]:
    """Records with `text` as value, if given, and these headers; placeholders are replaced."""
    templates = {name: header.encode() for name, header in (headers or {}).items()}

    def of(sequence: int) -> Record:
        key, value, own = record_of(sequence)
        topic = topic_of(sequence)
        added: Headers = [
            (name, fill_placeholders(template, value, sequence, topic))
            for name, template in templates.items()
        ]
        new_value = value
        if text:
            new_value = fill_placeholders(text.encode(), value, sequence, topic)
        return key, new_value, [*own, *added]

    return of


class Draws:
    """The n-th random number between 0 and 1, independent of earlier calls; drawn in blocks."""

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


def random_records(
    *, size: int, keys: int, spread: str, seed: str, sizes: str = "constant"
) -> Callable[[int], Record]:
    """Random records of `size` bytes on average, the same for the same seed and number."""
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
        # keys**u is log-uniform: Zipf with exponent 1.
        return lambda sequence: b"%d" % int(keys ** draw(sequence) - 1)
    if spread == "normal":
        return lambda sequence: (
            b"%d" % min(keys - 1, max(0, int(keys / 2 * quantile(draw(sequence)))))
        )
    return lambda sequence: b"%d" % int(keys * draw(sequence))


def from_function(name: str, folder: str, seed: str) -> Callable[[int], Record]:
    """Records of a user's function, called with the record's number, from 0, and a `Random`."""
    module, _, function = name.partition(":")
    sys.path.insert(0, folder)
    make = getattr(importlib.import_module(module), function, None)
    if not callable(make):
        raise SystemExit(f"{module} has no function '{function}'")
    return lambda sequence: as_record(make(sequence, random.Random(f"{seed} {sequence}")), name)


def as_record(result: object, name: str) -> Record:
    """Convert the result of a user's function: a value, (key, value), or a mapping with `value` and
    perhaps `key` and `headers`.
    """
    if isinstance(result, tuple) and len(result) == 2:
        result = {"key": result[0], "value": result[1]}
    elif isinstance(result, (str, bytes)):
        result = {"value": result}
    if (
        not isinstance(result, Mapping)
        or "value" not in result
        or result.keys() - {"key", "value", "headers"}
    ):
        raise SystemExit(
            f"{name} gave {result!r}: it must give a value, (key, value) or a mapping with value, "
            "key and headers"
        )
    key = result.get("key")
    headers: Headers = [(word, _bytes(of)) for word, of in result.get("headers", {}).items()]
    return None if key is None else _bytes(key), _bytes(result["value"]), headers


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else bytes(content)


@dataclass(frozen=True, kw_only=True)
class Source:
    """The records of one producer by their numbers."""

    topics: Sequence[str]
    topic_of: Callable[[int], str]
    record_of: Callable[[int], Record]
    held: int
    """Number of contents in its file; 0 without a file."""
    same: Record | None = None
    """The record, if all are the same: it is made only once."""


def source_of(order: RecordsOrder, member: ProducerMember) -> Source:
    """The records of one producer."""
    contents = contents_of(Path(order.file), order.content) if order.file else []
    seed = f"{os.environ['STREAMBED_SEED']} {member.name}"
    record_of = repeat_contents(contents, order.key) if contents else _make_records(order, seed)
    # Producers that take turns start at topics far apart, or all would write to the same few.
    shift = member.number * len(order.topics) // member.of
    topic_of = topics_of(order.topics, order.order, seed=seed, shift=shift)
    if order.text or order.headers:
        record_of = add_text_and_headers(record_of, order.text, topic_of, order.headers)
    source = Source(topics=order.topics, topic_of=topic_of, record_of=record_of, held=len(contents))
    if not _are_all_the_same(order, len(contents)):
        return source
    same = record_of(0)
    return replace(source, record_of=lambda sequence: same, same=same)


def _are_all_the_same(order: RecordsOrder, held: int) -> bool:
    """Whether no part of a record depends on its number."""
    if order.text or order.headers:
        return False
    if held:
        return held == 1
    return not (order.function or order.keys) and order.sizes == "constant"


def _make_records(order: RecordsOrder, seed: str) -> Callable[[int], Record]:
    if order.function:
        return from_function(order.function, order.folder, seed)
    return random_records(
        size=order.size, sizes=order.sizes, keys=order.keys, spread=order.spread, seed=seed
    )
