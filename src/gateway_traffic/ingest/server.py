"""The ingest server: HTTP, WebSocket, health and metrics on one port."""

from __future__ import annotations

import asyncio
import logging
import socket as sockets
import ssl
from collections.abc import Collection
from functools import partial
from typing import Any

import orjson
from aiohttp import WSCloseCode, hdrs, web

from gateway_traffic.errors import RecordError, ServiceError
from gateway_traffic.ingest.admission import STATUS, Admission
from gateway_traffic.ingest.bounded import BoundedServer, refusal
from gateway_traffic.ingest.posting import Posting
from gateway_traffic.ingest.tls import listen
from gateway_traffic.ingest.websocket import Socket
from gateway_traffic.records import Version
from gateway_traffic.web_names import accepts_origin

log = logging.getLogger(__name__)

POSTS = {f"/v1/{version}": version for version in Version}
SOCKETS = {f"/v1/{version}/socket": version for version in Version}
WATCH_S = 0.5
IDLE_CODE = 4408
BACKLOG = 4096


class Server:
    """One ingest server."""

    def __init__(self, admission: Admission, origins: Collection[str] = ()) -> None:
        self._admission = admission
        self._origins = frozenset(origins)
        self._sockets: set[Socket] = set()
        self._stopping = False
        self._http = BoundedServer(self._answer, admission.limits, admission.tally)
        self._posting = Posting(admission, self._http)
        self._listeners: list[sockets.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._runner = web.ServerRunner(self._http)
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        tally = admission.tally
        tally.gauges["outstanding"] = (
            "Records that wait for Kafka.",
            lambda: admission.forwarder.outstanding,
        )
        tally.gauges["connections"] = (
            "Open connections, sockets included.",
            lambda: len(self._http.table),
        )
        tally.gauges["newcomers"] = (
            "Open connections without a valid record.",
            lambda: self._http.table.newcomers,
        )
        tally.gauges["sockets"] = ("Open WebSockets.", lambda: len(self._sockets))

    async def open(
        self, host: str, port: int, *, share_port: bool = False, tls: ssl.SSLContext | None = None
    ) -> int:
        """Start to listen. Returns the port, which matters if 0 was asked for."""
        await self._runner.setup()
        try:
            if tls:
                return self._open_tls(host, port, share_port=share_port, context=tls)
            site = web.TCPSite(self._runner, host, port, reuse_port=share_port, backlog=BACKLOG)
            await site.start()
        except OSError as error:
            raise ServiceError(
                f"cannot listen on {host}:{port}: {error.strerror or error}. Is another server "
                "there? Try --port"
            ) from None
        return int(self._runner.addresses[0][1])

    def _open_tls(self, host: str, port: int, *, share_port: bool, context: ssl.SSLContext) -> int:
        listeners = listen(host, port, share_port=share_port, backlog=BACKLOG)
        self._listeners += listeners
        loop = asyncio.get_running_loop()
        for listener in listeners:
            accepting = self._http.accept_tls(listener, context)
            self._accepting.append(loop.create_task(accepting))
        return int(listeners[0].getsockname()[1])

    async def _close_tls(self) -> None:
        for accepting in self._accepting:
            accepting.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        for listener in self._listeners:
            listener.close()
        self._http.cancel_handshakes()

    async def stop(self) -> int:
        """Accept no more, acknowledge what Kafka takes within `stop_s`, and close.

        Returns the number of accepted records that Kafka did not acknowledge.
        """
        within_s = self._admission.limits.stop_s
        self._stopping = True
        for site in list(self._runner.sites):
            await site.stop()
        await self._close_tls()
        for socket in self._sockets:
            socket.stop(WSCloseCode.GOING_AWAY, "the server stops")
        unsettled = await self._admission.forwarder.close(within_s)
        self._watching.cancel()
        self._http.pre_shutdown()
        await self._http.shutdown(timeout=2.0)
        await self._runner.cleanup()
        return unsettled

    def count_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """The event loop's handler of errors that nobody else takes; drops their text."""
        self._http.errors.count_failure(context.get("exception"))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if not self._accepts_origin(request):
            self._admission.tally.rejected["origin"] += 1
            return refusal(403, "a web page may not send records here; allow it: --allow-origin")
        version = POSTS.get(request.path)
        if version is not None and request.method == hdrs.METH_POST:
            return await self._post(request, version)
        if request.method != hdrs.METH_GET:
            known = {*POSTS, *SOCKETS, "/health", "/metrics"}
            status = 405 if request.path in known else 404
            return refusal(status, f"there is no {request.method} {request.path[:80]}")
        if version := SOCKETS.get(request.path):
            return await self._socket(request, version)
        return self._answer_get(request.path)

    def _answer_get(self, path: str) -> web.Response:
        if path == "/health":
            return self._health()
        if path == "/metrics":
            return web.Response(
                body=self._admission.tally.text(),
                headers={hdrs.CONTENT_TYPE: "text/plain; version=0.0.4; charset=utf-8"},
            )
        posts = [f"POST {known}" for known in POSTS]
        sockets = [f"WebSocket {known}" for known in SOCKETS]
        known_requests = ", ".join([*posts, *sockets, "GET /health", "GET /metrics"])
        return refusal(404, f"there is no {path[:80]}; there is: {known_requests}")

    def _accepts_origin(self, request: web.BaseRequest) -> bool:
        """Browsers name the page that a request comes from; other clients name none."""
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None:
            return True
        return accepts_origin(origin, request.headers.get(hdrs.HOST, ""), self._origins)

    async def _post(self, request: web.BaseRequest, version: Version) -> web.Response:
        if not self._stopping:
            return await self._posting.answer(request, version)
        response = refusal(
            503,
            "the server stops",
            headers={hdrs.RETRY_AFTER: str(self._admission.limits.retry_after_s)},
        )
        response.force_close()
        return response

    async def _socket(self, request: web.BaseRequest, version: Version) -> web.StreamResponse:
        if self._stopping:
            return refusal(
                503,
                "the server stops",
                headers={hdrs.RETRY_AFTER: str(self._admission.limits.retry_after_s)},
            )
        try:
            route = self._admission.route(
                version, request.headers.get(hdrs.SEC_WEBSOCKET_PROTOCOL, "")
            )
        except RecordError as error:
            self._admission.tally.rejected[error.flaw] += 1
            return refusal(STATUS[error.flaw], f"Sec-WebSocket-Protocol: {error}")
        handler = request.protocol
        socket = Socket(self._admission, route, prove=partial(self._http.prove, handler))
        self._sockets.add(socket)
        try:
            self._http.close_by(handler, partial(self._close_silent, socket))
            return await socket.serve(request)
        finally:
            self._sockets.discard(socket)

    def _close_silent(self, socket: Socket) -> None:
        self._admission.tally.cut_off["first_record"] += 1
        limit_s = self._admission.limits.first_record_s
        socket.stop(IDLE_CODE, f"no valid record within {limit_s:g} s")

    def _health(self) -> web.Response:
        trouble = "the server stops" if self._stopping else self._admission.forwarder.trouble
        state = {
            "state": "unwell" if trouble else "well",
            "says": trouble,
            "outstanding": self._admission.forwarder.outstanding,
        }
        return web.Response(
            status=503 if trouble else 200,
            body=orjson.dumps(state),
            content_type="application/json",
        )

    async def _watch(self) -> None:
        """Cut off idle connections; log trouble with Kafka, and summaries of malformed requests."""
        troubled = False
        while True:
            await asyncio.sleep(WATCH_S)
            if (trouble := self._admission.forwarder.trouble) and not troubled:
                log.warning("%s", trouble)
            elif troubled and not trouble:
                log.warning("Kafka acknowledges again")
            troubled = bool(trouble)
            self._http.errors.flush()
            self._http.cut_off_newcomers()
            self._cut_off_idle_sockets()

    def _cut_off_idle_sockets(self) -> None:
        idle_s = self._admission.limits.idle_s
        for socket in [socket for socket in self._sockets if socket.silent_s > idle_s]:
            self._admission.tally.cut_off["idle"] += 1
            socket.stop(IDLE_CODE, f"no record for {idle_s:g} s")
