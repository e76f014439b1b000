"""What all gateways of a client share: the server's address, time limits and the ledger."""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from gateway_traffic.client.http_channel import HttpChannel
from gateway_traffic.client.ledger import Ledger, Sending
from gateway_traffic.client.websocket_channel import WebSocketChannel
from gateway_traffic.errors import ServiceError, UsageError
from gateway_traffic.records import Encoding, Version
from gateway_traffic.tokens import SCHEME, Tokens

Channel = HttpChannel | WebSocketChannel
CONNECTING_MAX = 256
"""Connection attempts at the same time: the server's accept queue is finite."""


class ClientProtocol(StrEnum):
    """How a gateway talks to the server."""

    PER_CONNECTION = "per-connection"
    KEEP_ALIVE = "keep-alive"
    WEBSOCKET = "websocket"


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Time limits and retries of a client."""

    answer_s: float = 30.0
    """Time limit for an answer or acknowledgement; after it the connection is dropped and the
    record sent again.
    """
    connect_s: float = 10.0
    record_s: float = 300.0
    """Time limit for an acknowledgement, from when the record was due; then it is given up."""
    backoff_s: float = 0.1
    """The first pause before a retry; it doubles each time."""
    backoff_max_s: float = 5.0

    def pause_s(self, failures: int, retry_after_s: float) -> float:
        """The pause after `failures` failures in a row: at least `retry_after_s`, plus jitter."""
        doubled = min(self.backoff_max_s, self.backoff_s * 2 ** min(failures - 1, 30))
        return float(max(retry_after_s, doubled) * random.uniform(1.0, 1.5))


class ClientSession:
    """The server's address, open connections and the ledger of one client."""

    def __init__(
        self,
        url: str,
        *,
        version: Version,
        encoding: Encoding,
        patience: Patience,
        tokens: Tokens | None,
        authority: Path | None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                "the server's address looks like http://host:port or https://host:port; asked "
                f"for: {url}"
            )
        self.patience = patience
        self.ledger = Ledger()
        self.unsettled = 0
        self._loop = asyncio.get_running_loop()
        self._name = parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._address = _address(self._name, self._port)
        self._tls = None
        if parts.scheme == "https":
            self._tls = ssl.create_default_context(cafile=authority)
        self._version, self._encoding, self._tokens = version, encoding, tokens
        self._connecting = asyncio.Semaphore(CONNECTING_MAX)
        self._tasks: set[asyncio.Task[None]] = set()

    def head(self, gateway_id: str, protocol: ClientProtocol) -> bytes:
        """The constant first part of a gateway's requests; the channel writes the rest."""
        websocket = protocol is ClientProtocol.WEBSOCKET
        request = f"GET /v1/{self._version}/socket" if websocket else f"POST /v1/{self._version}"
        lines = [f"{request} HTTP/1.1", f"Host: {self._name}:{self._port}"]
        if self._tokens:
            lines.append(f"Authorization: {SCHEME}{self._tokens.of(gateway_id)}")
        lines += self._upgrade_headers() if websocket else self._post_headers(protocol)
        return "\r\n".join(lines).encode()

    def _upgrade_headers(self) -> list[str]:
        return [
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Protocol: {self._encoding.name}",
            "",
        ]

    def _post_headers(self, protocol: ClientProtocol) -> list[str]:
        keep = protocol is ClientProtocol.KEEP_ALIVE
        return [
            f"Connection: {'keep-alive' if keep else 'close'}",
            f"Content-Type: {self._encoding.content_type}",
            "Content-Length: ",
        ]

    def connect(self, channel: Channel) -> None:
        """Open a connection for a channel."""
        task = self._loop.create_task(self._connect(channel))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, channel: Channel) -> None:
        try:
            async with self._connecting, asyncio.timeout(self.patience.connect_s):
                name = self._name if self._tls else None
                await self._loop.create_connection(
                    lambda: channel, *self._address, ssl=self._tls, server_hostname=name
                )
        except (OSError, TimeoutError) as error:
            channel.failed(str(error) or f"no connection within {self.patience.connect_s:g} s")

    def settle(self, sending: Sending, status: int, acked_ns: int = 0) -> None:
        """Enter a record that needs no more attempts in the ledger."""
        self.unsettled -= 1
        self.ledger.add(sending, status=status, acked_ns=acked_ns)

    def overdue(self, sending: Sending) -> bool:
        """Whether a record's time limit is over."""
        return time.monotonic_ns() - sending.due_ns > self.patience.record_s * 1e9


def _address(name: str, port: int) -> tuple[str, int]:
    """Resolve the name once, not for each connection."""
    try:
        addresses = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ServiceError(f"the server {name} cannot be found: {error}") from None
    return str(addresses[0][4][0]), port
