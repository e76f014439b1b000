"""Replay a trace on time, however slow the server is.

The load is open loop: a record is due by the trace and the speed-up, and its latency counts from
there, even if the gateway has to wait. Nothing is skipped: a client that cannot keep up falls
behind, and its ledger shows it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from gateway_traffic.client.gateways import Gateway, gateway_for
from gateway_traffic.client.ledger import Sending
from gateway_traffic.client.session import ClientProtocol, ClientSession
from gateway_traffic.codecs import encode
from gateway_traffic.errors import UsageError
from gateway_traffic.records import Encoding, Record

CHUNK = 5_000
TURN = 64
"""Records offered in a row before control returns to the event loop."""
WATCH_S = 0.5
GRACE_S = 5.0
"""After a signal: time for outstanding acknowledgements."""
STEP_S = 0.005
SLACK_NS = 500_000
"""A record due within this time is sent at once: no timer is finer."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How fast a trace is replayed."""

    speed_up: float = 60.0
    """Seconds of the trace per second; 0: as fast as acknowledgements come, each record due when
    there is room for it.
    """
    waiting_max: int = 200_000
    """Most records that are due and not settled; at this many the client waits."""

    def __post_init__(self) -> None:
        if self.speed_up < 0 or self.waiting_max < 1:
            raise UsageError(f"speed-up must be 0 or more and waiting 1 or more; asked for: {self}")


def speed_up_for(records: pl.DataFrame, rate: float) -> float:
    """The speed-up at which these records are due at `rate` a second on average."""
    if len(records) < 2 or rate <= 0:
        raise UsageError("a rate needs to be above 0 and at least two records to send")
    span_s = (records["due"][-1] - records["due"][0]) / 1000
    return float(rate * max(span_s, 0.001) / (len(records) - 1))


class Replay:
    """Sends records (a frame from `traces.records_of`), each by its gateway."""

    def __init__(
        self, session: ClientSession, protocol: ClientProtocol, encoding: Encoding, pace: Pace
    ) -> None:
        self._session = session
        self._protocol = protocol
        self._encoding = encoding
        self._pace = pace
        self._gateways: dict[str, Gateway] = {}
        self.offered = 0
        self.stopping = False
        """Set it to send no more and to wait only GRACE_S for acknowledgements."""

    async def run(self, records: pl.DataFrame) -> None:
        """Send all records; returns when each is acknowledged, rejected or given up."""
        watch = asyncio.get_running_loop().create_task(self._watch())
        try:
            await self._open(records["gateway_id"].unique())
            await self._offer(records)
            await self._wait_until_settled()
        finally:
            watch.cancel()
            for gateway in self._gateways.values():
                gateway.close()

    async def _open(self, gateway_ids: pl.Series) -> None:
        """Open the sockets before the load begins; bounded by the time limit for connecting."""
        for gateway_id in gateway_ids:
            self._gateway(gateway_id).open()
        while any(gateway.opening for gateway in self._gateways.values()) and not self.stopping:
            await asyncio.sleep(STEP_S)

    async def _wait_until_settled(self) -> None:
        """Bounded, because gateways give up each record in time."""
        grace = GRACE_S
        while self._session.unsettled and grace > 0:
            await asyncio.sleep(STEP_S)
            grace -= STEP_S if self.stopping else 0

    async def _offer(self, records: pl.DataFrame) -> None:
        speed_up = self._pace.speed_up
        start_ns = time.monotonic_ns()
        first_ms = int(records["due"][0]) if len(records) else 0
        for due_ms, record in _rows(records):
            due_ns = 0
            if speed_up:
                due_ns = start_ns + int((due_ms - first_ms) * 1e6 / speed_up)
                await self._wait_until_due(due_ns)
            while self._session.unsettled >= self._pace.waiting_max and not self.stopping:
                await asyncio.sleep(0.001)
            if self.stopping:
                return
            self._send(record, due_ns or time.monotonic_ns())
            if self.offered % TURN == 0:
                await asyncio.sleep(0)

    async def _wait_until_due(self, due_ns: int) -> None:
        now_ns = time.monotonic_ns()
        while due_ns > now_ns + SLACK_NS and not self.stopping:
            await asyncio.sleep(min(0.2, (due_ns - now_ns) / 1e9))
            now_ns = time.monotonic_ns()

    def _send(self, record: Record, due_ns: int) -> None:
        self._session.unsettled += 1
        self.offered += 1
        payload = encode(record, self._encoding)
        sending = Sending(record.gateway_id, record.date, payload, due_ns)
        self._gateway(record.gateway_id).offer(sending)

    def _gateway(self, gateway_id: str) -> Gateway:
        if gateway_id not in self._gateways:
            gateway = gateway_for(self._protocol, self._session, gateway_id)
            self._gateways[gateway_id] = gateway
        return self._gateways[gateway_id]

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_S)
            now_ns = time.monotonic_ns()
            for gateway in self._gateways.values():
                gateway.watch(now_ns)


def _rows(records: pl.DataFrame) -> Iterator[tuple[int, Record]]:
    """Due times and records, a chunk at a time."""
    fields = [*Record._fields]
    for chunk in records.iter_slices(CHUNK):
        rows = map(Record._make, chunk.select(fields).iter_rows())
        yield from zip(chunk["due"].to_list(), rows, strict=True)
