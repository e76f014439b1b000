"""Replay: a trace is sent on time, whatever the server does.

The load is open loop: a record is due by the trace and the speed-up, and its latency counts from
there, even if the gateway has to wait for its turn. Nothing is skipped: a client that cannot keep
up falls behind, and its ledger shows it.
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
"""Records offered in a row before the event loop gets its turn."""
WATCH_S = 0.5
GRACE_S = 5.0
"""After a signal: time for acknowledgements that are on their way."""
STEP_S = 0.005
SLACK_NS = 500_000
"""Closer than this to its time a record is sent at once: no timer is finer."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How fast a trace is replayed."""

    speed_up: float = 60.0
    """Seconds of the trace that pass in a second; 0: as fast as acknowledgements come, each record
    due when there is room for it.
    """
    waiting_max: int = 200_000
    """Records that are due and not settled. At this many the client stops offering more until some
    are.
    """

    def __post_init__(self) -> None:
        if self.speed_up < 0 or self.waiting_max < 1:
            raise UsageError(f"speed-up cannot be below 0 nor waiting below 1; asked for: {self}")


def speed_up_for(records: pl.DataFrame, rate: float) -> float:
    """The speed-up at which these records are due at this many a second on average."""
    if len(records) < 2 or rate <= 0:
        raise UsageError("a rate needs to be above 0 and at least two records to send")
    span_s = (records["due"][-1] - records["due"][0]) / 1000
    return float(rate * max(span_s, 0.001) / (len(records) - 1))


class Replay:
    """Sends records (a frame from `traces.records_of`) by one gateway each."""

    def __init__(
        self, session: ClientSession, protocol: ClientProtocol, encoding: Encoding, pace: Pace
    ) -> None:
        self._session = session
        self._protocol = protocol
        self._form = encoding
        self._pace = pace
        self._gateways: dict[str, Gateway] = {}
        self.offered = 0
        self.stopping = False
        """Set it to offer no more, and to give those on their way a moment only."""

    async def run(self, records: pl.DataFrame) -> None:
        """Send all of them; done when each is acknowledged, rejected or given up."""
        watching = asyncio.get_running_loop().create_task(self._watch())
        try:
            await self._open(records["gateway_id"].unique())
            await self._offer(records)
            await self._settled()
        finally:
            watching.cancel()
            for gateway in self._gateways.values():
                gateway.close()

    async def _open(self, gateway_ids: pl.Series) -> None:
        """Sockets are open before the load begins, as far as the server lets them; bounded by the
        time that connecting may take.
        """
        for gateway_id in gateway_ids:
            self._gateway(gateway_id).open()
        while any(gateway.opening for gateway in self._gateways.values()) and not self.stopping:
            await asyncio.sleep(STEP_S)

    async def _settled(self) -> None:
        """Bounded: gateways give up each record in time."""
        grace = GRACE_S
        while self._session.unsettled and grace > 0:
            await asyncio.sleep(STEP_S)
            grace -= STEP_S if self.stopping else 0

    async def _offer(self, records: pl.DataFrame) -> None:
        speed_up, waiting_max = self._pace.speed_up, self._pace.waiting_max
        start_ns, first_ms = time.monotonic_ns(), int(records["due"][0]) if len(records) else 0
        for due_ms, record in _rows(records):
            now_ns = time.monotonic_ns()
            due_ns = start_ns + int((due_ms - first_ms) * 1e6 / speed_up) if speed_up else now_ns
            while due_ns > now_ns + SLACK_NS and not self.stopping:
                await asyncio.sleep(min(0.2, (due_ns - now_ns) / 1e9))
                now_ns = time.monotonic_ns()
            while self._session.unsettled >= waiting_max and not self.stopping:
                await asyncio.sleep(0.001)
            if self.stopping:
                return
            if not speed_up:
                due_ns = time.monotonic_ns()
            self._session.unsettled += 1
            self.offered += 1
            self._gateway(record.gateway_id).offer(
                Sending(record.gateway_id, record.date, encode(record, self._form), due_ns)
            )
            if self.offered % TURN == 0:
                await asyncio.sleep(0)

    def _gateway(self, gateway_id: str) -> Gateway:
        gateway = self._gateways.get(gateway_id)
        if gateway is None:
            gateway = self._gateways[gateway_id] = gateway_for(
                self._protocol, self._session, gateway_id
            )
        return gateway

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
        yield from zip(
            chunk["due"].to_list(), map(Record._make, chunk.select(fields).iter_rows()), strict=True
        )
