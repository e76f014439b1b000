"""Run one client: read a trace, send it, write the ledger."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from gateway_traffic import traces
from gateway_traffic.client.ledger import Ledger, Summary, sent_rows, summarise
from gateway_traffic.client.replay import Pace, Replay, speed_up_for
from gateway_traffic.client.session import ClientProtocol, ClientSession, Patience
from gateway_traffic.errors import UsageError
from gateway_traffic.machine import allow_many_sockets
from gateway_traffic.records import Encoding, Version, topic_of
from gateway_traffic.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class SendOptions:
    """The options of one client, as the command line gives them."""

    trace: Path
    url: str
    version: Version
    encoding: Encoding
    protocol: ClientProtocol
    speed_up: float = 60.0
    rate: float | None = None
    """Records a second on average, instead of a speed-up."""
    records: int | None = None
    """Send only the first records of the trace."""
    share: tuple[int, int] = (1, 1)
    """(1, 4): the first of four clients that share the gateways."""
    ledger: Path | None = None
    sent: Path | None = None
    """Parquet file for the ledger in its common form (`ledger.sent_rows`)."""
    name: str = "gateways"
    """The producer in that ledger."""
    waiting_max: int = 200_000
    patience: Patience = field(default_factory=Patience)
    tokens: Tokens | None = None
    authority: Path | None = None


async def send(options: SendOptions) -> Summary:
    """Send a trace. After SIGINT or SIGTERM it stops early and still writes the ledger."""
    allow_many_sockets()
    records = _records(options)
    speed_up = options.speed_up
    if options.rate is not None:
        speed_up = speed_up_for(records, options.rate)
    pace = Pace(speed_up=speed_up, waiting_max=options.waiting_max)
    session = ClientSession(
        options.url,
        version=options.version,
        encoding=options.encoding,
        patience=options.patience,
        tokens=options.tokens,
        authority=options.authority,
    )
    replay = Replay(session, options.protocol, options.encoding, pace)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, setattr, replay, "stopping", True)
    await replay.run(records)
    _write(session.ledger, options, speed_up)
    return summarise(session.ledger.frame())


def _write(ledger: Ledger, options: SendOptions, speed_up: float) -> None:
    """Write the files that the options ask for."""
    if options.ledger:
        ledger.write(
            options.ledger,
            trace=options.trace,
            version=options.version,
            encoding=options.encoding.name,
            protocol=options.protocol,
            speed_up=speed_up,
        )
    if options.sent:
        rows = sent_rows(ledger.frame(), producer=options.name, topic=topic_of(options.version))
        rows.write_parquet(options.sent)


def _records(options: SendOptions) -> pl.DataFrame:
    records = traces.records_of(traces.read(options.trace), options.version)
    number, of = options.share
    if not 1 <= number <= of:
        raise UsageError(f"a share is 1/1, 1/2, 2/2 and so on; asked for: {number}/{of}")
    if of > 1:
        records = records.filter(pl.col("gateway_id").hash(seed=0) % of == number - 1)
    if options.records is not None:
        records = records.head(options.records)
    if not len(records):
        raise UsageError(f"{options.trace} has no records for this client")
    return records
