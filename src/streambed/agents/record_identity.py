"""The identity of a record: who sent it, and which of its records it is. It travels in a header,
`producer/sequence`.
"""

from __future__ import annotations

IDENTITY = "sb"
"""The header that carries it."""


def identity_text(producer: str, sequence: int) -> bytes:
    """What the header holds."""
    return f"{producer}/{sequence}".encode()


def parse_identity(text: bytes | str | None) -> tuple[str | None, int | None]:
    """Producer and sequence; None for records that no producer of ours sent."""
    if text is None:
        return None, None
    if isinstance(text, bytes):
        text = text.decode()
    producer, _, sequence = text.rpartition("/")
    return producer, int(sequence)
