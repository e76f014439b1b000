"""What all gateways of a client share: where the server is, how to connect, how long to wait, and
the ledger.
"""

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
"""Connections that are being made at the same time: a server's queue for them is finite."""


class ClientProtocol(StrEnum):
    """How a gateway speaks to the server."""

    PER_CONNECTION = "per-connection"
    KEEP_ALIVE = "keep-alive"
    WEBSOCKET = "websocket"


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How a client waits and comes again."""

    answer_s: float = 30.0
    """An answer or acknowledgement that has not come by then never will: the connection is given
    up, the record sent again.
    """
    connect_s: float = 10.0
    record_s: float = 300.0
    """A record that is not acknowledged so long after it was due is given up."""
    backoff_s: float = 0.1
    """The first pause before a record is sent again; it doubles each time."""
    backoff_max_s: float = 5.0

    def pause_s(self, failures: int, retry_after_s: float) -> float:
        """How long to wait after so many failures in a row: at least what the server asks for, and
        never the same for all gateways.
        """
        doubled = min(self.backoff_max_s, self.backoff_s * 2 ** min(failures - 1, 30))
        return float(max(retry_after_s, doubled) * random.uniform(1.0, 1.5))


class ClientSession:
    """Shared by the gateways of one client."""

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
        self._tls = (
            ssl.create_default_context(cafile=authority) if parts.scheme == "https" else None
        )
        self._version, self._form, self._tokens = version, encoding, tokens
        self._connecting = asyncio.Semaphore(CONNECTING_MAX)
        self._tasks: set[asyncio.Task[None]] = set()

    def head(self, gateway_id: str, protocol: ClientProtocol) -> bytes:
        """The first part of a request, up to what differs from one to the next."""
        path = f"/v1/{self._version}" + ("/socket" if protocol is ClientProtocol.WEBSOCKET else "")
        lines = [
            f"{'GET' if protocol is ClientProtocol.WEBSOCKET else 'POST'} {path} HTTP/1.1",
            f"Host: {self._name}:{self._port}",
        ]
        if self._tokens:
            lines.append(f"Authorization: {SCHEME}{self._tokens.of(gateway_id)}")
        if protocol is ClientProtocol.WEBSOCKET:
            upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
            return "\r\n".join(
                [*lines, *upgrade, f"Sec-WebSocket-Protocol: {self._form.name}", ""]
            ).encode()
        kept = "keep-alive" if protocol is ClientProtocol.KEEP_ALIVE else "close"
        return "\r\n".join(
            [
                *lines,
                f"Connection: {kept}",
                f"Content-Type: {self._form.content_type}",
                "Content-Length: ",
            ]
        ).encode()

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
        """A record is done with."""
        self.unsettled -= 1
        self.ledger.add(sending, status=status, acked_ns=acked_ns)

    def overdue(self, sending: Sending) -> bool:
        """Whether a record has been tried for too long."""
        return time.monotonic_ns() - sending.due_ns > self.patience.record_s * 1e9


def _address(name: str, port: int) -> tuple[str, int]:
    """Looked up once, not for each connection."""
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ServiceError(f"the server {name} cannot be found: {error}") from None
    return str(found[0][4][0]), port
