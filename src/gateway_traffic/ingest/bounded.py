"""aiohttp's server with limits on its connections, and without request text in its log."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import orjson
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawRequestMessage
from aiohttp.http_websocket import WebSocketReader
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from gateway_traffic.ingest.connections import Connections, address_of
from gateway_traffic.ingest.error_log import ErrorLog
from gateway_traffic.ingest.frames import MaskedFrames
from gateway_traffic.ingest.limits import Limits
from gateway_traffic.ingest.tally import Tally

HEADER_BYTES_MAX = 4096
HEADERS_MAX = 32

_silent = logging.getLogger(f"{__name__}.silent")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False


class BoundedServer(web.Server):
    """Admits connections, cuts off newcomers that are slow, and makes their handlers."""

    def __init__(self, answer: Any, limits: Limits, tally: Tally) -> None:
        super().__init__(
            answer,
            request_factory=self._bounded_request,
            access_log=None,
            logger=_silent,
            keepalive_timeout=limits.idle_s,
            lingering_time=1.0,
            max_line_size=HEADER_BYTES_MAX,
            max_field_size=HEADER_BYTES_MAX,
            max_headers=HEADERS_MAX,
        )
        self.errors = ErrorLog(tally)
        self.table: Connections[RequestHandler] = Connections(
            total_max=limits.connections, per_address_max=limits.connections_per_address
        )
        self._limits = limits
        self._tally = tally
        self._handshakes: dict[RequestHandler, asyncio.Task[None]] = {}
        self._reading_body: set[RequestHandler] = set()
        self._closers: dict[RequestHandler, Callable[[], None] | None] = {}
        """How to close a WebSocket; None once that was done."""

    def __call__(self) -> RequestHandler:
        """Make the handler of a new connection; aiohttp calls it."""
        return _IngestConnection(self, loop=self._loop, **self._kwargs)

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """Admit a connection or abort it. A TLS connection was admitted before its handshake."""
        super().connection_made(handler, transport)
        if handler not in self.table and not self._admit(handler, _peer_of(transport)):
            transport.abort()

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        """Forget a closed connection."""
        super().connection_lost(handler, exc)
        self.table.close(handler)
        self._closers.pop(handler, None)

    async def accept_tls(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        """Accept TLS connections until cancelled; each counts from before its handshake."""
        while True:
            try:
                connection, peer = await self._loop.sock_accept(listener)
            except OSError:
                # No more descriptors, or the client has gone: others may still come.
                await asyncio.sleep(0.1)
                continue
            handler = self()
            if not self._admit(handler, address_of(peer[0])):
                connection.close()
                continue
            handshake = self._loop.create_task(self._shake_hands(handler, connection, context))
            self._handshakes[handler] = handshake

    async def _shake_hands(
        self, handler: RequestHandler, connection: socket.socket, context: ssl.SSLContext
    ) -> None:
        try:
            await self._loop.connect_accepted_socket(
                lambda: handler,
                connection,
                ssl=context,
                ssl_handshake_timeout=self._limits.handshake_s,
            )
        except (OSError, asyncio.CancelledError):
            # Not TLS, too slow, or evicted.
            self._tally.cut_off["handshake"] += 1
            self.table.close(handler)
            connection.close()
        finally:
            del self._handshakes[handler]

    def cancel_handshakes(self) -> None:
        """End all handshakes that are not done."""
        for handshake in list(self._handshakes.values()):
            handshake.cancel()

    def prove(self, handler: RequestHandler) -> None:
        """A connection has sent a valid record."""
        self.table.prove(handler)

    @contextlib.contextmanager
    def reading_body(self, handler: RequestHandler) -> Iterator[None]:
        """While a connection sends a body, `body_s` limits its time."""
        self._reading_body.add(handler)
        try:
            yield
        finally:
            self._reading_body.discard(handler)

    def close_by(self, handler: RequestHandler, close: Callable[[], None]) -> None:
        """Close this connection, a WebSocket, by calling `close` if its first record is late."""
        self._closers[handler] = close

    def cut_off_newcomers(self) -> None:
        """End connections without a valid record within `first_record_s`.

        A body may still take its own time, and a WebSocket is closed properly; after `body_s` more
        the connection is aborted in any case.
        """
        now = self._loop.time()
        due = now - self._limits.first_record_s
        overdue = due - self._limits.body_s
        for handler, opened_at in self.table.opened_before(due):
            has_more_time = handler in self._closers or handler in self._reading_body
            if opened_at < overdue or not has_more_time:
                self._tally.cut_off["first_record"] += 1
                self._abort(handler)
            elif close := self._closers.get(handler):
                self._closers[handler] = None
                close()

    def _admit(self, handler: RequestHandler, address: str) -> bool:
        opening = self.table.open(handler, address, self._loop.time())
        if opening.evicted:
            self._tally.cut_off["evicted"] += 1
            self._abort(opening.evicted)
        if not opening.admitted:
            self._tally.cut_off["connections"] += 1
        return opening.admitted

    def _abort(self, handler: RequestHandler) -> None:
        self.table.close(handler)
        if handshake := self._handshakes.get(handler):
            handshake.cancel()
        if transport := self._connections.get(handler):
            transport.abort()

    def _bounded_request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        limit = self._limits.record_bytes
        return web.BaseRequest(
            message, payload, protocol, writer, task, self._loop, client_max_size=limit
        )


class _IngestConnection(RequestHandler):
    """aiohttp's handler of one connection; what it would log is counted instead."""

    __slots__ = ("_errors",)

    def __init__(self, server: BoundedServer, **options: Any) -> None:
        super().__init__(server, **options)
        self._errors = server.errors

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Count and answer a request that is malformed or that made the server fail."""
        malformed = isinstance(exc, HttpProcessingError)
        if malformed:
            self._errors.count_malformed()
        else:
            self._errors.count_failure(exc)
        if request.writer.output_size:
            raise ConnectionError("the response has begun")
        says = "this is not HTTP as the server takes it" if malformed else "the server failed"
        response = refusal(status, says)
        response.force_close()
        return response

    def log_exception(self, *args: Any, exc_info: Any = None, **options: Any) -> None:
        """Count what aiohttp would log with a traceback."""
        self._errors.count_failure(exc_info if isinstance(exc_info, BaseException) else None)

    def set_parser(
        self, parser: WebSocketReader, data_received_cb: Callable[[], None] | None = None
    ) -> None:
        """Check the frames of a connection that has become a WebSocket."""
        super().set_parser(MaskedFrames(parser), data_received_cb)  # type: ignore[arg-type]


def refusal(status: int, says: str, headers: dict[str, str] | None = None) -> web.Response:
    """An error response with the reason as JSON."""
    body = orjson.dumps({"error": "refused", "says": says})
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


def _peer_of(transport: asyncio.Transport) -> str:
    """The address of the peer; empty if the connection is already gone."""
    peer = transport.get_extra_info("peername")
    return address_of(peer[0]) if peer else ""
