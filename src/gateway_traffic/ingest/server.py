"""The ingest server: HTTP, WebSocket, health and metrics on one port."""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import Any

import orjson
from aiohttp import WSCloseCode, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from gateway_traffic.errors import RecordError, ServiceError
from gateway_traffic.ingest.admission import STATUS, Admission
from gateway_traffic.ingest.posting import Posting
from gateway_traffic.ingest.websocket import Socket
from gateway_traffic.records import Version

log = logging.getLogger(__name__)

POSTS = {f"/v1/{version}": version for version in Version}
SOCKETS = {f"/v1/{version}/socket": version for version in Version}
WATCH_S = 0.5
IDLE_CODE = 4408
HEADER_BYTES_MAX = 4096
HEADERS_MAX = 32
BACKLOG = 4096


class Server:
    """One ingest server."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._posting = Posting(admission)
        self._sockets: set[Socket] = set()
        self._stopping = False
        self._http = _BoundedServer(self._answer, admission)
        self._runner = web.ServerRunner(self._http)
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        tally = admission.tally
        tally.gauges["outstanding"] = (
            "Records that wait for Kafka.",
            lambda: admission.forwarder.outstanding,
        )
        tally.gauges["connections"] = (
            "Open connections, sockets included.",
            lambda: len(self._http.connections),
        )
        tally.gauges["sockets"] = ("Open WebSockets.", lambda: len(self._sockets))

    async def open(
        self, host: str, port: int, *, share_port: bool = False, tls: ssl.SSLContext | None = None
    ) -> int:
        """Start to listen. Returns the port, which matters if 0 was asked for."""
        await self._runner.setup()
        site = web.TCPSite(
            self._runner, host, port, reuse_port=share_port, ssl_context=tls, backlog=BACKLOG
        )
        try:
            await site.start()
        except OSError as error:
            raise ServiceError(
                f"cannot listen on {host}:{port}: {error.strerror or error}. Is another server "
                "there? Try --port"
            ) from None
        return int(self._runner.addresses[0][1])

    async def stop(self) -> int:
        """Accept no more, acknowledge what Kafka takes within `stop_s`, and close.

        Returns the number of accepted records that Kafka did not acknowledge.
        """
        within_s = self._admission.limits.stop_s
        self._stopping = True
        for site in list(self._runner.sites):
            await site.stop()
        for socket in self._sockets:
            socket.stop(WSCloseCode.GOING_AWAY, "the server stops")
        unsettled = await self._admission.forwarder.close(within_s)
        self._watching.cancel()
        self._http.pre_shutdown()
        await self._http.shutdown(timeout=2.0)
        await self._runner.cleanup()
        return unsettled

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self._http.heard_from(request.protocol)
        version = POSTS.get(request.path)
        if version is not None and request.method == hdrs.METH_POST:
            return await self._post(request, version)
        if request.method != hdrs.METH_GET:
            known = {*POSTS, *SOCKETS, "/health", "/metrics"}
            status = 405 if request.path in known else 404
            return _refusal(status, f"there is no {request.method} {request.path[:80]}")
        if version := SOCKETS.get(request.path):
            return await self._socket(request, version)
        if request.path == "/health":
            return self._health()
        if request.path == "/metrics":
            return web.Response(
                body=self._admission.tally.text(),
                headers={hdrs.CONTENT_TYPE: "text/plain; version=0.0.4; charset=utf-8"},
            )
        posts = [f"POST {path}" for path in POSTS]
        sockets = [f"WebSocket {path}" for path in SOCKETS]
        there = ", ".join([*posts, *sockets, "GET /health", "GET /metrics"])
        return _refusal(404, f"there is no {request.path[:80]}; there is: {there}")

    async def _post(self, request: web.BaseRequest, version: Version) -> web.Response:
        if not self._stopping:
            return await self._posting.answer(request, version)
        response = _refusal(
            503,
            "the server stops",
            headers={hdrs.RETRY_AFTER: str(self._admission.limits.retry_after_s)},
        )
        response.force_close()
        return response

    async def _socket(self, request: web.BaseRequest, version: Version) -> web.StreamResponse:
        if self._stopping:
            return _refusal(
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
            return _refusal(STATUS[error.flaw], f"Sec-WebSocket-Protocol: {error}")
        socket = Socket(self._admission, route)
        self._sockets.add(socket)
        try:
            return await socket.serve(request)
        finally:
            self._sockets.discard(socket)

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
        """Cut off idle connections; log when trouble with Kafka begins and ends."""
        troubled = False
        while True:
            await asyncio.sleep(WATCH_S)
            if (trouble := self._admission.forwarder.trouble) and not troubled:
                log.warning("%s", trouble)
            elif troubled and not trouble:
                log.warning("Kafka acknowledges again")
            troubled = bool(trouble)
            self._http.cut_off_silent()
            self._cut_off_idle_sockets()

    def _cut_off_idle_sockets(self) -> None:
        idle_s = self._admission.limits.idle_s
        for socket in [socket for socket in self._sockets if socket.silent_s > idle_s]:
            self._admission.tally.cut_off["idle"] += 1
            socket.stop(IDLE_CODE, f"no record for {idle_s:g} s")


class _BoundedServer(web.Server):
    """aiohttp's server with limits on connections and on the time until the first request."""

    def __init__(self, answer: Any, admission: Admission) -> None:
        limits = admission.limits
        super().__init__(
            answer,
            request_factory=self._bounded_request,
            access_log=None,
            keepalive_timeout=limits.idle_s,
            lingering_time=1.0,
            max_line_size=HEADER_BYTES_MAX,
            max_field_size=HEADER_BYTES_MAX,
            max_headers=HEADERS_MAX,
        )
        self._admission = admission
        self._silent: dict[object, float] = {}

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """From aiohttp; one connection too many is aborted."""
        super().connection_made(handler, transport)
        if len(self._connections) > self._admission.limits.connections:
            self._admission.tally.cut_off["connections"] += 1
            transport.abort()
            return
        self._silent[handler] = self._loop.time() + self._admission.limits.first_request_s

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        """From aiohttp."""
        super().connection_lost(handler, exc)
        self._silent.pop(handler, None)

    def heard_from(self, protocol: object) -> None:
        """A connection has sent a whole request: its first-request limit no longer applies."""
        self._silent.pop(protocol, None)

    def cut_off_silent(self) -> None:
        """Abort connections that did not send a whole first request in time."""
        now = self._loop.time()
        overdue = [handler for handler, due in self._silent.items() if due <= now]
        for handler in overdue:
            del self._silent[handler]
            if transport := self._connections.get(handler):  # type: ignore[call-overload]
                self._admission.tally.cut_off["first_request"] += 1
                transport.abort()

    def _bounded_request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        limit = self._admission.limits.record_bytes
        return web.BaseRequest(
            message, payload, protocol, writer, task, self._loop, client_max_size=limit
        )


def _refusal(status: int, says: str, headers: dict[str, str] | None = None) -> web.Response:
    body = orjson.dumps({"error": "refused", "says": says})
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)
