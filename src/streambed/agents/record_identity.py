"""The identity of a record, `producer/sequence`, which a header carries."""

from __future__ import annotations

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
