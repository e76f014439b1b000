"""The identity of a record, `producer/sequence`, which a header carries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

IDENTITY = "sb"
"""The header that carries it."""


def identity_text(producer: str, sequence: int) -> bytes:
    """The value of the header."""
    return f"{producer}/{sequence}".encode()


def parse_identity(text: bytes | str | None) -> tuple[str | None, int | None]:
    """Producer and sequence; None for a record without the header."""
    if text is None:
        return None, None
    if isinstance(text, bytes):
        text = text.decode()
    producer, _, sequence = text.rpartition("/")
    return producer, int(sequence)


def parse_identities(
    texts: Sequence[bytes | str | None],
) -> tuple[list[str | None], Sequence[int | None] | NDArray[np.int64]]:
    """Producer and sequence of each; fast if they are all of one producer."""
    first = texts[0]
    if isinstance(first, bytes):
        prefix = first[: first.rfind(b"/") + 1]
        sequences = _sequences_after(prefix, texts)
        if sequences is not None:
            return [prefix[:-1].decode()] * len(texts), sequences
    pairs = map(parse_identity, texts)
    producers, numbers = zip(*pairs, strict=True)
    return list(producers), numbers


def _sequences_after(
    prefix: bytes, texts: Sequence[bytes | str | None]
) -> NDArray[np.int64] | None:
    """The sequences, if every text is this prefix and a number; otherwise None."""
    try:
        joined = b"\n" + b"\n".join(texts)  # type: ignore[arg-type]
    except TypeError:
        return None  # Some record has no identity.
    separator = b"\n" + prefix
    if not prefix or joined.count(separator) != len(texts):
        return None
    numbers = joined.replace(separator, b" ")
    if not numbers.replace(b" ", b"").isdigit():
        return None
    sequences = np.fromstring(numbers, np.int64, sep=" ")
    return sequences if len(sequences) == len(texts) else None
