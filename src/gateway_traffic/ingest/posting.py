"""Records by HTTP: one record a request, answered once Kafka has acknowledged the record."""

from __future__ import annotations

import asyncio
from collections import deque

import orjson
from aiohttp import hdrs, web

from gateway_traffic.errors import RecordError
from gateway_traffic.ingest.admission import STATUS, Admission
from gateway_traffic.ingest.bounded import BoundedServer
from gateway_traffic.records import Version

EXPIRY_S = 0.1
"""How often held requests are checked for expiry."""


class Posting:
    """Answers POST /v1/VERSION."""

    def __init__(self, admission: Admission, http: BoundedServer) -> None:
        self._admission = admission
        self._http = http
        self._loop = asyncio.get_running_loop()
        self._held: deque[tuple[float, asyncio.Future[str | None]]] = deque()

    async def answer(self, request: web.BaseRequest, version: Version) -> web.Response:
        """204: Kafka has the record; 4xx: the record is wrong; 503: send it again later."""
        try:
            route = self._admission.route_for_content_type(
                version, request.headers.get(hdrs.CONTENT_TYPE, "")
            )
            payload = await self._body(request)
            record = self._admission.admit(
                payload, route, request.headers.get(hdrs.AUTHORIZATION, "")
            )
        except RecordError as error:
            return self._reject(error)
        except TimeoutError:
            self._admission.tally.cut_off["body"] += 1
            return _response(
                408, "body", "the body of the request did not come in time", close=True
            )
        self._http.prove(request.protocol)
        if self._admission.forwarder.full:
            return self._refuse_for_now("full", "too many records wait for Kafka")
        answer = self._hold()

        def settled(error: str | None) -> None:
            if not answer.done():
                answer.set_result(error)

        self._admission.forward(payload, record, route, settled)
        kafka_error = await answer
        if kafka_error is not None:
            return self._refuse_for_now("kafka", kafka_error)
        return web.Response(status=204)

    async def _body(self, request: web.BaseRequest) -> bytes:
        limit = self._admission.limits.record_bytes
        if (request.content_length or 0) > limit:
            raise RecordError(
                "too_large",
                f"a record has at most {limit} bytes; this one has {request.content_length}",
            )
        try:
            # The body nearly always comes with the headers: then no timer is needed.
            if request.content.is_eof():
                return await request.read()
            with self._http.reading_body(request.protocol):
                async with asyncio.timeout(self._admission.limits.body_s):
                    return await request.read()
        except web.HTTPRequestEntityTooLarge:
            raise RecordError("too_large", f"a record has at most {limit} bytes") from None
        except web.RequestPayloadError as error:
            raise RecordError("malformed", f"the body cannot be read: {error}") from None

    def _hold(self) -> asyncio.Future[str | None]:
        """A future that Kafka or `_expire` settles within `hold_s`. One timer serves all."""
        future: asyncio.Future[str | None] = self._loop.create_future()
        if not self._held:
            self._loop.call_later(EXPIRY_S, self._expire)
        self._held.append((self._loop.time() + self._admission.limits.hold_s, future))
        return future

    def _expire(self) -> None:
        now = self._loop.time()
        while self._held and (self._held[0][1].done() or self._held[0][0] <= now):
            _, future = self._held.popleft()
            if not future.done():
                future.set_result(
                    "Kafka has not acknowledged the record within "
                    f"{self._admission.limits.hold_s:g} s"
                )
        if self._held:
            self._loop.call_later(EXPIRY_S, self._expire)

    def _reject(self, error: RecordError) -> web.Response:
        self._admission.tally.rejected[error.flaw] += 1
        return _response(
            STATUS[error.flaw], error.flaw, str(error), close=error.flaw == "too_large"
        )

    def _refuse_for_now(self, reason: str, says: str) -> web.Response:
        self._admission.tally.refused[reason] += 1
        return _response(503, reason, says, retry_after_s=self._admission.limits.retry_after_s)


def _response(
    status: int, error: str, says: str, *, close: bool = False, retry_after_s: int = 0
) -> web.Response:
    response = web.Response(
        status=status,
        body=orjson.dumps({"error": error, "says": says}),
        content_type="application/json",
    )
    if retry_after_s:
        response.headers[hdrs.RETRY_AFTER] = str(retry_after_s)
    if close:
        response.force_close()
    return response
