"""Records by WebSocket: one socket for a gateway, one message for a record.

The subprotocol names the encoding, such as `avro.2`. The server answers with text messages that
hold one number: how many records of this socket Kafka has acknowledged so far. What has not been
acknowledged when a socket closes should be sent again on a new one. Records of a gateway keep their
order all the way into one topic partition, so a number n means the first n records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from aiohttp import WebSocketError, WSCloseCode, WSMsgType, hdrs, web

from gateway_traffic.errors import RecordError
from gateway_traffic.ingest.admission import STATUS, Admission, IngestRoute
from gateway_traffic.ingest.frames import is_close_code

REASON_BYTES_MAX = 120
"""A close frame holds at most 123."""
CLOSE_S = 2.0
"""Time limit for a client to answer a close frame."""


class End(NamedTuple):
    """Why a socket is closed."""

    code: int
    says: str = ""


class Socket:
    """One open WebSocket."""

    def __init__(self, admission: Admission, route: IngestRoute, prove: Callable[[], None]) -> None:
        self._admission = admission
        self._route = route
        self._prove = prove
        """Called once the socket has sent a valid record."""
        self._loop = asyncio.get_running_loop()
        self._accepted = 0
        self._acked = 0
        self._failed = False
        self._heard = self._loop.time()
        self._gateway_id = ""
        self._settled = asyncio.Event()
        self._reading: asyncio.Task[End] | None = None
        self._stopped: End | None = None
        self._channel = web.WebSocketResponse(
            protocols=(route.encoding.name,),
            autoclose=False,
            compress=False,
            max_msg_size=admission.limits.record_bytes,
            timeout=CLOSE_S,
            decode_text=False,
        )

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Read until the end, acknowledge everything that was accepted, then close."""
        await self._channel.prepare(request)
        self._reading = self._loop.create_task(
            self._read(request.headers.get(hdrs.AUTHORIZATION, ""))
        )
        self._reading.add_done_callback(lambda _: self._settled.set())
        acknowledging = self._loop.create_task(self._acknowledge(self._reading))
        try:
            await asyncio.wait({self._reading})
            end = self._stopped or self._reading.result()
            if not self._channel.closed:
                await asyncio.wait({acknowledging}, timeout=self._admission.limits.delivery_s)
                await self._channel.close(
                    code=end.code, message=end.says.encode()[:REASON_BYTES_MAX]
                )
        finally:
            self._reading.cancel()
            acknowledging.cancel()
        return self._channel

    def stop(self, code: int, says: str) -> None:
        """Read no more; what was accepted is still acknowledged before the socket closes."""
        self._stopped = self._stopped or End(code, says)
        if self._reading:
            self._reading.cancel()

    @property
    def silent_s(self) -> float:
        """Time since the last record; 0 while one is unacknowledged, because then the socket may
        not be read.
        """
        return self._loop.time() - self._heard if self._acked == self._accepted else 0.0

    async def _read(self, authorization: str) -> End:
        receive = self._channel.receive
        forwarder = self._admission.forwarder
        in_flight = self._admission.limits.in_flight
        while True:
            message = await receive()
            if message.type is WSMsgType.CLOSE:
                return await self._answer_close(message.data)
            if message.type not in (WSMsgType.BINARY, WSMsgType.TEXT):
                return self._end_of_messages(message.data)
            try:
                self._accept(message.data, authorization)
            except RecordError as error:
                self._admission.tally.rejected[error.flaw] += 1
                return End(4000 + STATUS[error.flaw], f"record {self._accepted + 1}: {error}")
            if forwarder.full:
                await forwarder.room()
            while self._accepted - self._acked >= in_flight:
                # `_acknowledge` misses nothing: `in_flight` records are still to be settled.
                self._settled.clear()
                await self._settled.wait()

    def _accept(self, payload: bytes, authorization: str) -> None:
        record = self._admission.admit(payload, self._route, authorization)
        if record.gateway_id != self._gateway_id:
            if self._gateway_id:
                raise RecordError(
                    "gateway",
                    f"this socket is that of {self._gateway_id}, not of {record.gateway_id}",
                )
            self._gateway_id = record.gateway_id
            self._prove()
        self._heard = self._loop.time()
        self._accepted += 1
        self._admission.forward(payload, record, self._route, self._on_settled)

    def _on_settled(self, error: str | None) -> None:
        """Count in order up to the first failure: what follows it must be sent again as well."""
        if error is not None:
            self._admission.tally.refused["kafka"] += 1
            self._failed = True
            self.stop(WSCloseCode.TRY_AGAIN_LATER, error)
        elif not self._failed:
            self._acked += 1
        self._settled.set()

    async def _acknowledge(self, reading: asyncio.Task[End]) -> None:
        """Send the client the number of acknowledged records, in as few messages as possible."""
        reported = 0
        while True:
            await self._settled.wait()
            self._settled.clear()
            if self._acked > reported:
                reported = self._acked
                try:
                    await self._channel.send_str(str(reported))
                except ConnectionError:
                    return
            if reading.done() and (self._failed or reported == self._accepted):
                return

    async def _answer_close(self, code: int) -> End:
        """The client closes: answer at once, because it reads no more acknowledgements."""
        answer = WSCloseCode.OK
        if not is_close_code(code):
            self._admission.tally.rejected["malformed"] += 1
            answer = WSCloseCode.PROTOCOL_ERROR
        await self._channel.close(code=answer, drain=False)
        return End(answer)

    def _end_of_messages(self, why: object) -> End:
        """The connection is lost, or aiohttp closed the socket for a protocol error."""
        if isinstance(why, WebSocketError):
            too_large = why.code == WSCloseCode.MESSAGE_TOO_BIG
            self._admission.tally.rejected["too_large" if too_large else "malformed"] += 1
        return End(WSCloseCode.OK)
