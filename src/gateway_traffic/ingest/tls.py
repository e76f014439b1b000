"""TLS: the server's certificate, and the sockets that it listens on.

TLS connections are accepted one by one, so that a connection is counted before its handshake and
not only after it, as an asyncio server would.
"""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from gateway_traffic.errors import UsageError


def tls_context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """The context of a server with this certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"the certificate {certificate} and its key cannot be used: {error}"
        ) from None
    return context


def listen(host: str, port: int, *, share_port: bool, backlog: int) -> list[socket.socket]:
    """A listening socket for each address of a host; OSError if one cannot be bound."""
    resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    addresses = {(family, address[:2]) for family, *_, address in resolved}
    listeners: list[socket.socket] = []
    try:
        for family, address in sorted(addresses):
            listener = socket.create_server(
                address, family=family, backlog=backlog, reuse_port=share_port
            )
            listener.setblocking(False)
            listeners.append(listener)
    except OSError:
        for listener in listeners:
            listener.close()
        raise
    return listeners
