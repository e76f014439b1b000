"""A token for each gateway, derived from one secret: no table of gateways is needed.

The token of a gateway is the HMAC-SHA256 of its id under the secret. It travels as `Authorization:
Bearer TOKEN`, and a record is accepted only if it names the gateway whose token came with it.
Neither secret nor token is ever part of a message or a log line.
"""

from __future__ import annotations

import hashlib
import hmac
import stat
from functools import lru_cache
from pathlib import Path

from gateway_traffic.errors import UsageError

SECRET_BYTES_MIN = 16
SCHEME = "Bearer "


class Tokens:
    """Derives and checks the tokens of all gateways."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < SECRET_BYTES_MIN:
            raise UsageError(
                f"a secret needs at least {SECRET_BYTES_MIN} bytes; this one has {len(secret)}"
            )
        self._secret = secret
        self._cached = lru_cache(maxsize=100_000)(self._make)

    def __repr__(self) -> str:
        return "Tokens(…)"

    def of(self, gateway_id: str) -> str:
        """The token of a gateway."""
        return self._cached(gateway_id)

    def admit(self, gateway_id: str, authorization: str) -> bool:
        """Whether this is the Authorization of this gateway; compared in constant time."""
        expected = SCHEME + self.of(gateway_id)
        # A header may hold any byte; aiohttp shows those that are not UTF-8 as surrogates.
        received = authorization.encode(errors="surrogateescape")
        return hmac.compare_digest(received, expected.encode())

    def _make(self, gateway_id: str) -> str:
        return hmac.new(self._secret, gateway_id.encode(), hashlib.sha256).hexdigest()


def exposure_of(path: Path) -> str:
    """A warning if other users may read this file; empty if not, or if there is no file."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return ""
    if not mode & (stat.S_IRGRP | stat.S_IROTH):
        return ""
    return f"other users may read {path} (mode {mode:o}); forbid it: chmod 600 {path}"


def read_tokens(path: Path | None) -> Tokens | None:
    """The tokens for the secret in this file; None without a path."""
    if path is None:
        return None
    try:
        return Tokens(path.read_bytes().strip())
    except OSError as error:
        raise UsageError(f"the secret cannot be read: {error}") from None
