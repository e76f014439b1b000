"""The attack mix of benchmarks/hostile.py, as a separate process.

    python -m benchmarks._attack PORT SECONDS SHARE

It attacks 127.0.0.1:PORT from other loopback addresses, each kind at its rate in RATES times SHARE,
with at most AT_ONCE connections of each kind, and exits after SECONDS. It prints how many attacks
of each kind it began.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable

from gateway_traffic.client.websocket_channel import BINARY, frame
from gateway_traffic.codecs import encode
from gateway_traffic.records import ENCODINGS, Record

RATES = {
    "malformed_http": 50,
    "malformed_websocket": 25,
    "slow_headers": 10,
    "half_open": 10,
    "idle_holders": 10,
    "without_token": 100,
    "oversized": 10,
}
"""Attacks a second."""
AT_ONCE = 400
"""Most open connections of each kind."""
HELD_S = 30.0
"""How long an attacker holds a connection, unless the server ends it."""
SOURCES = 64
"""Attackers have the addresses 127.0.0.2 and up; honest clients have 127.0.0.1."""
ENCODING = ENCODINGS["json.2"]
BODY = encode(Record("gw-attacker", 1_704_067_200_000, 1.0, 2.0, 0), ENCODING)
POST = f"POST /v1/counter HTTP/1.1\r\nHost: x\r\nContent-Type: {ENCODING.content_type}\r\n".encode()
MALFORMED = [
    b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer none\nX: y\r\n\r\n",
    POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"\x16\x03\x01" + bytes(300) + b"\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    POST + b"Authorization: \xff\r\nContent-Length: 2\r\n\r\n{}",
]
BAD_FRAMES = [
    bytes((0x82, len(BODY) & 0x7F)) + BODY,
    b"\xf2\x80" + b"mask",
    frame(b"x" * 8000, BINARY, b"mask"),
    frame(b"{", BINARY, b"mask"),
    frame((5000).to_bytes(2, "big"), 0x8, b"mask"),
]


class Attack:
    """All kinds of attacks on one port."""

    def __init__(self, port: int) -> None:
        self.began: Counter[str] = Counter()
        self._port = port
        self._sources = itertools.cycle(f"127.0.0.{2 + number}" for number in range(SOURCES))
        self._variants = itertools.count()
        self.kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "malformed_http": self._malformed_http,
            "malformed_websocket": self._malformed_websocket,
            "slow_headers": self._slow_headers,
            "half_open": self._half_open,
            "idle_holders": self._idle_holder,
            "without_token": self._without_token,
            "oversized": self._oversized,
        }

    async def run(self, seconds: float, share: float) -> None:
        """Run all kinds at their rates; at the end, close the connections that are still open."""
        paced = [self._repeat(name, RATES[name] * share, kind) for name, kind in self.kinds.items()]
        ending = asyncio.get_running_loop().time() + seconds
        await asyncio.gather(*(pace(ending) for pace in paced))

    def _repeat(
        self, name: str, per_s: float, attack: Callable[[], Awaitable[None]]
    ) -> Callable[[float], Awaitable[None]]:
        async def pace(ending: float) -> None:
            held: set[asyncio.Task[None]] = set()
            clock = asyncio.get_running_loop().time
            due = clock()
            while due < ending:
                await asyncio.sleep(max(0.0, due - clock()))
                due += 1 / per_s
                if len(held) < AT_ONCE:
                    self.began[name] += 1
                    task = asyncio.create_task(_bounded(attack))
                    held.add(task)
                    task.add_done_callback(held.discard)
            for task in list(held):
                task.cancel()
            await asyncio.gather(*held, return_exceptions=True)

        return pace

    async def _talk(
        self, first: bytes, then: Callable[[asyncio.StreamWriter], Awaitable[None]] | None = None
    ) -> None:
        """Connect, send something, and read until the server closes the connection."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self._port, local_addr=(next(self._sources), 0)
        )
        try:
            writer.write(first)
            if then:
                await then(writer)
            while await reader.read(65_536):
                pass
        finally:
            writer.transport.abort()

    async def _malformed_http(self) -> None:
        await self._talk(MALFORMED[next(self._variants) % len(MALFORMED)])

    async def _malformed_websocket(self) -> None:
        await self._talk(_upgrade() + BAD_FRAMES[next(self._variants) % len(BAD_FRAMES)])

    async def _slow_headers(self) -> None:
        async def drip(writer: asyncio.StreamWriter) -> None:
            for _ in range(int(HELD_S)):
                writer.write(b"X: y\r\n")
                await writer.drain()
                await asyncio.sleep(1.0)

        await self._talk(POST, drip)

    async def _half_open(self) -> None:
        await self._talk(b"")

    async def _idle_holder(self) -> None:
        first = (
            b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" if next(self._variants) % 2 else _upgrade()
        )
        await self._talk(first)

    async def _without_token(self) -> None:
        length = f"Connection: close\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()
        await self._talk(POST + length + BODY)

    async def _oversized(self) -> None:
        if next(self._variants) % 2:
            await self._talk(POST + b"Content-Length: 1000000000\r\n\r\n" + b"x" * 100_000)
        else:
            chunk = b"2710\r\n" + b"x" * 10_000 + b"\r\n"
            await self._talk(POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 20)


async def _bounded(attack: Callable[[], Awaitable[None]]) -> None:
    """Ignore how the server ends an attacker's connection: any way is right."""
    try:
        async with asyncio.timeout(HELD_S):
            await attack()
    except (OSError, TimeoutError):
        pass


def _upgrade() -> bytes:
    key = base64.b64encode(os.urandom(16))
    return (
        b"GET /v1/counter/socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: json.2\r\n"
        b"Sec-WebSocket-Key: " + key + b"\r\n\r\n"
    )


def main(port: int, seconds: float, share: float) -> None:
    """Attack, then print what was done."""
    attack = Attack(port)
    began = time.monotonic()
    asyncio.run(attack.run(seconds, share))
    print(json.dumps({"began": attack.began, "seconds": round(time.monotonic() - began, 1)}))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
