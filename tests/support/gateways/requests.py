"""Requests to an ingest server of a test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from tests.support.gateways.serving import ENCODING, Running

HEADERS = {"Content-Type": ENCODING.content_type}


PATH = "/v1/counter"


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 20))


async def posted(
    at: Running, body: Any, headers: dict[str, str] = HEADERS, path: str = PATH
) -> tuple[int, dict[str, str], str]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(at.url + path, data=body, headers=headers) as answer,
    ):
        return answer.status, dict(answer.headers), await answer.text()


async def raw(at: Running, request: bytes, *, end: bool = False) -> bytes:
    """What the server says to these bytes until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
    writer.write(request)
    if end:
        writer.write_eof()
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()
