"""The server of the page: one HTML document, and the newest state as JSON."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from aiohttp import web

from gateway_traffic.errors import GatewayTrafficError, ServiceError
from gateway_traffic.page.state import State

DOCUMENT = Path(__file__).with_name("page.html")
STATE = web.AppKey("state", State)
EVERY = web.AppKey("every", float)
TROUBLE = web.AppKey("trouble", list[str])
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'"
)
"""Nothing is loaded from other servers."""


async def serve(
    state: State, host: str, port: int, every_s: float, opened: Callable[[int], None]
) -> None:
    """Serve until cancelled; `opened` is called with the port."""
    runner = web.AppRunner(application(state, every_s), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise ServiceError(
                f"the page cannot be served at {host}:{port}: {error.strerror}"
            ) from error
        opened(runner.addresses[0][1])
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def application(state: State, every_s: float) -> web.Application:
    """The routes, and the task that polls the store."""
    application = web.Application()
    application[STATE], application[EVERY], application[TROUBLE] = state, every_s, []
    application.router.add_get("/", _document)
    application.router.add_get("/state.json", _state)
    application.cleanup_ctx.append(_poll_while_serving)
    return application


async def _document(request: web.Request) -> web.Response:
    return web.Response(
        text=DOCUMENT.read_text(),
        content_type="text/html",
        headers={"Content-Security-Policy": POLICY},
    )


async def _state(request: web.Request) -> web.Response:
    try:
        date = request.query.get("day", "")
        state = await asyncio.to_thread(request.app[STATE].as_json, date)
    except GatewayTrafficError as error:
        return web.json_response({"trouble": str(error)}, status=503)
    troubles = request.app[TROUBLE]
    state["trouble"] = troubles[0] if troubles else ""
    return web.json_response(state, headers={"Cache-Control": "no-store"})


async def _poll_while_serving(application: web.Application) -> AsyncIterator[None]:
    task = asyncio.create_task(_poll_store(application))
    yield
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def _poll_store(application: web.Application) -> None:
    """Poll the store forever; while it cannot be read, the page shows why."""
    while True:
        try:
            await asyncio.to_thread(application[STATE].look, time.monotonic())
            application[TROUBLE].clear()
        except GatewayTrafficError as error:
            application[TROUBLE][:] = [str(error)]
        await asyncio.sleep(application[EVERY])
