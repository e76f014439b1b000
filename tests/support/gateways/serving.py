"""A server in this process, with a forwarder that settles records when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gateway_traffic.client.replay import Pace, Replay
from gateway_traffic.client.session import ClientProtocol, ClientSession, Patience
from gateway_traffic.codecs import encode
from gateway_traffic.ingest.admission import Admission
from gateway_traffic.ingest.forwarder import Headers, Settled
from gateway_traffic.ingest.limits import Limits
from gateway_traffic.ingest.server import Server
from gateway_traffic.ingest.tally import Tally
from gateway_traffic.records import ENCODINGS, Record, Version
from gateway_traffic.tokens import Tokens

DATE = 1_704_067_200_000
ENCODING = ENCODINGS["json.2"]


def record(number: int = 0, gateway_id: str = "gw-1") -> Record:
    return Record(gateway_id, DATE + number, 10.0, 20.0, 0)


def payload(number: int = 0, gateway_id: str = "gw-1") -> bytes:
    return encode(record(number, gateway_id), ENCODING)


class HeldForwarder:
    """Keeps records until they are released, as a Kafka that is slow; `taken` are those that it
    acknowledged.
    """

    def __init__(self, *, held: bool, capacity: int = 1000) -> None:
        self.held = held
        self.capacity = capacity
        self.waiting: list[tuple[str, bytes, Settled]] = []
        self.taken: list[tuple[str, bytes]] = []

    @property
    def outstanding(self) -> int:
        return len(self.waiting)

    @property
    def full(self) -> bool:
        return self.outstanding >= self.capacity

    @property
    def trouble(self) -> str:
        return "Kafka is away" if self.held and self.waiting else ""

    def forward(
        self, topic: str, key: str, value: bytes, headers: Headers, settled: Settled
    ) -> None:
        self.waiting.append((topic, value, settled))
        if not self.held:
            asyncio.get_running_loop().call_soon(self.settle)

    def settle(self, error: str | None = None) -> None:
        waiting, self.waiting = self.waiting, []
        for topic, value, settled in waiting:
            if error is None:
                self.taken.append((topic, value))
            settled(error)

    def release(self) -> None:
        self.held = False
        self.settle()

    async def room(self) -> None:
        while self.full:
            await asyncio.sleep(0.001)

    async def close(self, within_s: float) -> int:
        self.release()
        return 0


@dataclass
class Running:
    server: Server
    forwarder: HeldForwarder
    tally: Tally
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def until(self, condition: object, limit_s: float = 5.0) -> None:
        async with asyncio.timeout(limit_s):
            while not condition():  # type: ignore[operator]
                await asyncio.sleep(0.002)


@asynccontextmanager
async def running(
    *,
    held: bool = False,
    capacity: int = 1000,
    limits: Limits | None = None,
    tokens: Tokens | None = None,
    origins: tuple[str, ...] = (),
) -> AsyncIterator[Running]:
    forwarder, tally = HeldForwarder(held=held, capacity=capacity), Tally()
    admission = Admission(forwarder, limits or Limits(stop_s=2.0), tally, tokens, "traffic")
    server = Server(admission, origins)
    port = await server.open("127.0.0.1", 0)
    try:
        yield Running(server, forwarder, tally, port)
    finally:
        await server.stop()


def replayed(
    url: str,
    protocol: ClientProtocol,
    *,
    tokens: Tokens | None = None,
    patience: Patience | None = None,
    authority: Path | None = None,
) -> tuple[Replay, ClientSession]:
    """A client as fast as it can be."""
    quick = patience or Patience(backoff_s=0.01, backoff_max_s=0.05)
    session = ClientSession(
        url,
        version=Version.COUNTER,
        encoding=ENCODING,
        patience=quick,
        tokens=tokens,
        authority=authority,
    )
    return Replay(session, protocol, ENCODING, Pace(speed_up=0)), session


def load(count: int, gateways: int = 3) -> pl.DataFrame:
    rows = [(*record(number, f"gw-{number % gateways}"), DATE + number) for number in range(count)]
    return pl.DataFrame(rows, schema=[*Record._fields, "due"], orient="row")
