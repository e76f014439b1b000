"""Records by HTTP: one request, one record, one answer, given when Kafka has acknowledged the
record.
"""

from __future__ import annotations

import asyncio
from collections import deque

import orjson
from aiohttp import hdrs, web

from gateway_traffic.errors import RecordError
from gateway_traffic.ingest.entrance import STATUS, Entrance
from gateway_traffic.records import Version

EXPIRY_S = 0.1
"""How often requests that have waited too long are looked for."""


class Posting:
    """Answers POST /v1/VERSION."""

    def __init__(self, entrance: Entrance) -> None:
        self._entrance = entrance
        self._loop = asyncio.get_running_loop()
        self._held: deque[tuple[float, asyncio.Future[str]]] = deque()

    async def answer(self, request: web.BaseRequest, version: Version) -> web.Response:
        """204 once Kafka has the record, 4xx if the record is wrong, 503 if it should be sent again
        later.
        """
        try:
            lane = self._entrance.lane_of_content(
                version, request.headers.get(hdrs.CONTENT_TYPE, "")
            )
            payload = await self._body(request)
            record = self._entrance.admit(
                payload, lane, request.headers.get(hdrs.AUTHORIZATION, "")
            )
        except RecordError as error:
            return self._rejected(error)
        except TimeoutError:
            self._entrance.tally.cut_off["body"] += 1
            return _response(
                408, "body", "the body of the request did not come in time", close=True
            )
        if self._entrance.forwarder.full:
            return self._come_again("full", "too many records wait for Kafka")
        settled = self._hold()
        self._entrance.forward(
            payload,
            record,
            lane,
            lambda failed: None if settled.done() else settled.set_result(failed),
        )
        failed = await settled
        if failed:
            return self._come_again("kafka", failed)
        return web.Response(status=204)

    async def _body(self, request: web.BaseRequest) -> bytes:
        limit = self._entrance.limits.record_bytes
        if (request.content_length or 0) > limit:
            raise RecordError(
                "too_large",
                f"a record has at most {limit} bytes; this one has {request.content_length}",
            )
        try:
            if (
                request.content.is_eof()
            ):  # It came with the headers, as it nearly always does: no timer is needed.
                return await request.read()
            async with asyncio.timeout(self._entrance.limits.body_s):
                return await request.read()
        except web.HTTPRequestEntityTooLarge:
            raise RecordError("too_large", f"a record has at most {limit} bytes") from None
        except web.RequestPayloadError as error:
            raise RecordError("malformed", f"the body cannot be read: {error}") from None

    def _hold(self) -> asyncio.Future[str]:
        """A future that is answered in good time, by Kafka or by `_expire`. One timer serves
        all.
        """
        future: asyncio.Future[str] = self._loop.create_future()
        if not self._held:
            self._loop.call_later(EXPIRY_S, self._expire)
        self._held.append((self._loop.time() + self._entrance.limits.hold_s, future))
        return future

    def _expire(self) -> None:
        now = self._loop.time()
        while self._held and (self._held[0][1].done() or self._held[0][0] <= now):
            _, future = self._held.popleft()
            if not future.done():
                future.set_result(
                    "Kafka has not acknowledged the record within "
                    f"{self._entrance.limits.hold_s:g} s"
                )
        if self._held:
            self._loop.call_later(EXPIRY_S, self._expire)

    def _rejected(self, error: RecordError) -> web.Response:
        self._entrance.tally.rejected[error.flaw] += 1
        return _response(
            STATUS[error.flaw], error.flaw, str(error), close=error.flaw == "too_large"
        )

    def _come_again(self, reason: str, says: str) -> web.Response:
        self._entrance.tally.refused[reason] += 1
        return _response(503, reason, says, retry_after_s=self._entrance.limits.retry_after_s)


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
