"""Raw connections to an ingest server of a test, as a hostile client has them."""

from __future__ import annotations

import asyncio
import base64
import os

from gateway_traffic.client.websocket_channel import CLOSE
from gateway_traffic.tokens import Tokens
from tests.support.gateways.requests import PATH
from tests.support.gateways.serving import Running

TOKENS = Tokens(b"a secret of many bytes")
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"


async def socket_of(
    at: Running, *lines: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
    """A raw WebSocket after its handshake, and the server's answer to that."""
    reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
    key = base64.b64encode(os.urandom(16)).decode()
    head = [
        f"GET {PATH}/socket HTTP/1.1",
        f"Host: 127.0.0.1:{at.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: json.2",
        f"Sec-WebSocket-Key: {key}",
        *lines,
    ]
    writer.write("\r\n".join([*head, "", ""]).encode("latin-1"))
    return reader, writer, await reader.readuntil(b"\r\n\r\n")


async def close_code(reader: asyncio.StreamReader) -> int:
    """The code of the close frame that the server sends."""
    received = await reader.read()
    assert received[0] == 0x80 | CLOSE, received
    return int.from_bytes(received[2:4], "big")
