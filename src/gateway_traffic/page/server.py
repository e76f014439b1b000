"""The server of the page: one HTML document, and the newest state as JSON."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path

import orjson
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from gateway_traffic.errors import GatewayTrafficError, ServiceError
from gateway_traffic.page.state import State
from gateway_traffic.web_names import accepts_host

DOCUMENT = Path(__file__).with_name("page.html")
STATE = web.AppKey("state", State)
EVERY = web.AppKey("every", float)
TROUBLE = web.AppKey("trouble", list[str])
HOSTS = web.AppKey("hosts", frozenset[str])


def policy_of(document: str) -> str:
    """The Content-Security-Policy of a page: its own style and script, requests to its server, and
    nothing else. No other page may show it in a frame.
    """
    return (
        f"default-src 'none'; style-src {_hash_of('style', document)}; "
        f"script-src {_hash_of('script', document)}; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


def _hash_of(element: str, document: str) -> str:
    content = document.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


async def serve(
    state: State,
    host: str,
    port: int,
    every_s: float,
    opened: Callable[[int], None],
    names: Collection[str] = (),
) -> None:
    """Serve until cancelled; `opened` is called with the port. `names` are further names that
    browsers may call the server by.
    """
    runner = web.AppRunner(application(state, every_s, {host, *names}), access_log=None)
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


def application(state: State, every_s: float, names: Collection[str]) -> web.Application:
    """The routes, and the task that polls the store."""
    application = web.Application(middlewares=[_check_host])
    application[STATE], application[EVERY], application[TROUBLE] = state, every_s, []
    application[HOSTS] = frozenset(names)
    application.router.add_get("/", _document)
    application.router.add_get("/state.json", _state)
    application.cleanup_ctx.append(_poll_while_serving)
    return application


@web.middleware
async def _check_host(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse names that are not ours: the page of another server may have been led here."""
    hosts = request.app[HOSTS]
    if accepts_host(request.headers.get(hdrs.HOST, ""), hosts):
        return await handler(request)
    return web.Response(
        status=421, text="this server does not have that name; allow it: --allow-host NAME"
    )


async def _document(request: web.Request) -> web.Response:
    text = DOCUMENT.read_text()
    headers = {
        "Content-Security-Policy": policy_of(text),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
    return web.Response(text=text, content_type="text/html", headers=headers)


async def _state(request: web.Request) -> web.Response:
    try:
        date = request.query.get("day", "")
        state = await asyncio.to_thread(request.app[STATE].as_json, date)
    except GatewayTrafficError as error:
        return web.json_response({"trouble": str(error)}, status=503)
    for trouble in request.app[TROUBLE]:  # A store that cannot be read comes first.
        state["trouble"] = trouble
    # Unlike json, orjson writes null for what is no number.
    return web.Response(
        body=orjson.dumps(state),
        content_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


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
