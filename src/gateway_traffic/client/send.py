"""Run one client: read a trace, send it, keep the ledger."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from gateway_traffic import traces
from gateway_traffic.client.ledger import Summary, summarise
from gateway_traffic.client.office import ClientProtocol, Office, Patience
from gateway_traffic.client.replay import Pace, Replay, speed_up_for
from gateway_traffic.errors import UsageError
from gateway_traffic.machine import allow_many_sockets
from gateway_traffic.records import Encoding, Version
from gateway_traffic.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What is asked of a client."""

    trace: Path
    url: str
    version: Version
    encoding: Encoding
    protocol: ClientProtocol
    speed_up: float = 60.0
    rate: float | None = None
    """Records a second on average, instead of a speed-up."""
    records: int | None = None
    """Only so many records of the trace."""
    share: tuple[int, int] = (1, 1)
    """(1, 4): the first of four clients that share the gateways."""
    ledger: Path | None = None
    waiting_max: int = 200_000
    patience: Patience = field(default_factory=Patience)
    tokens: Tokens | None = None
    authority: Path | None = None


async def send(asked: Sent) -> Summary:
    """Send a trace. SIGINT and SIGTERM end it early, and the ledger is kept all the same."""
    allow_many_sockets()
    records = _records(asked)
    speed_up = speed_up_for(records, asked.rate) if asked.rate is not None else asked.speed_up
    pace = Pace(speed_up=speed_up, waiting_max=asked.waiting_max)
    office = Office(
        asked.url,
        version=asked.version,
        encoding=asked.encoding,
        patience=asked.patience,
        tokens=asked.tokens,
        authority=asked.authority,
    )
    replay = Replay(office, asked.protocol, asked.encoding, pace)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, setattr, replay, "stopping", True)
    await replay.run(records)
    if asked.ledger:
        kept = {
            "trace": asked.trace,
            "version": asked.version,
            "encoding": asked.encoding.name,
            "protocol": asked.protocol,
            "speed_up": speed_up,
        }
        office.ledger.write(asked.ledger, **kept)
    return summarise(office.ledger.frame())


def _records(asked: Sent) -> pl.DataFrame:
    records = traces.records_of(traces.read(asked.trace), asked.version)
    number, of = asked.share
    if not 1 <= number <= of:
        raise UsageError(f"a share is 1/1, 1/2, 2/2 and so on; asked for: {number}/{of}")
    if of > 1:
        records = records.filter(pl.col("gateway_id").hash(seed=0) % of == number - 1)
    records = records.head(asked.records) if asked.records is not None else records
    if not len(records):
        raise UsageError(f"{asked.trace} has no records for this client")
    return records
