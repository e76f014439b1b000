"""What a producer says: the n-th record as a function of n, the same for the same seed."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLACEHOLDER = re.compile(rb"\{(record|topic|n)(?::([0-9]+))?\}")
DRAWN_AT_ONCE = 4096
Record = tuple[bytes | None, bytes]


def contents_of(path: Path, content: str) -> list[bytes]:
    """What there is to send: the lines of a file, the file as a whole, or the files of a folder in the order of their names."""
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
        return (before, after) if key == "tab" and tab else (None, found)

    return of


def topics_of(topics: list[str], order: str, *, seed: str, shift: int) -> Callable[[int], str]:
    """The topic of the n-th record: one after the other from the one at `shift` on, or drawn."""
    if len(topics) == 1:
        return lambda sequence: topics[0]
    if order == "turn":
        return lambda sequence: topics[(sequence + shift) % len(topics)]
    draw = Draws(f"{seed} topics")
    return lambda sequence: topics[int(draw(sequence) * len(topics))]


def worded(record_of: Callable[[int], Record], text: str, topic_of: Callable[[int], str]) -> Callable[[int], Record]:
    """Records that say `text`, in which {record}, {n}, {n:6} (with zeros, six digits) and {topic} are filled in; other braces stay."""

    def of(sequence: int) -> Record:
        key, value = record_of(sequence)

        def filled(found: re.Match[bytes]) -> bytes:
            number = f"{sequence + 1:0{int(found[2] or 0)}}".encode()
            return {b"record": value, b"topic": topic_of(sequence).encode(), b"n": number}[found[1]]

        return key, PLACEHOLDER.sub(filled, text.encode())

    return of


class Draws:
    """The n-th number drawn between 0 and 1, whatever was asked for before; drawn many at once, because that is what costs."""

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


def made_up_records(*, size: int, keys: int, spread: str, seed: str) -> Callable[[int], Record]:
    """Records of `size` bytes; the same seed gives the same record for the same sequence number."""
    body = random.Random(seed).randbytes(size)
    draw = Draws(f"{seed} keys")
    if not keys:
        return lambda sequence: (None, body)
    if spread == "zipf":
        return lambda sequence: (b"%d" % int(keys ** draw(sequence) - 1), body)  # keys**u is log-uniform: Zipf with exponent 1.
    return lambda sequence: (b"%d" % int(keys * draw(sequence)), body)


@dataclass(frozen=True, kw_only=True)
class Source:
    """The records of one producer by their numbers."""

    topics: list[str]
    topic_of: Callable[[int], str]
    record_of: Callable[[int], Record]
    held: int
    """How much content its file has."""


def source_of(order: dict[str, Any], name: str, number: int) -> Source:
    """The records of the producer of that name, the `number`-th of its kind."""
    contents = contents_of(Path(order["file"]), order["content"]) if order["file"] else []
    seed = f"{os.environ['STREAMBED_SEED']} {name}"
    made_up = made_up_records(size=order["size"], keys=order["keys"], spread=order["spread"], seed=seed)
    record_of = repeated(contents, order["key"]) if contents else made_up
    topic_of = topics_of(order["topics"], order["order"], seed=seed, shift=number)
    said = worded(record_of, order["text"], topic_of) if order["text"] else record_of
    return Source(topics=order["topics"], topic_of=topic_of, record_of=said, held=len(contents))
