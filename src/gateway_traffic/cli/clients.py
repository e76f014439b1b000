"""The command that sends a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import uvloop
from rich.console import Console
from rich.table import Table
from typer import Argument, Exit, Option

from gateway_traffic.client.ledger import Summary
from gateway_traffic.client.send import SendOptions
from gateway_traffic.client.send import send as send_trace
from gateway_traffic.client.session import ClientProtocol, Patience
from gateway_traffic.errors import UsageError
from gateway_traffic.records import NEWEST_SCHEMA, Encoding, Serialisation, Version
from gateway_traffic.tokens import read_tokens

NOT_ALL = 1
USUAL = Patience()


TraceArgument = Annotated[Path, Argument(help="A trace, made by `gateway-traffic trace`.")]
UrlOption = Annotated[str, Option(help="The ingest server.")]
VersionOption = Annotated[Version, Option(help="What the numbers of a record mean.")]
SerialisationOption = Annotated[Serialisation, Option(help="How records become bytes.")]
SchemaOption = Annotated[
    int, Option(help="Version of the schema to write with.", min=1, max=NEWEST_SCHEMA)
]
ProtocolOption = Annotated[
    ClientProtocol,
    Option(help="A connection for each record, a persistent one, or a WebSocket for each gateway."),
]
SpeedUpOption = Annotated[
    float, Option(help="Seconds of the trace per second; 0: as fast as acknowledgements come.")
]
RateOption = Annotated[
    float | None, Option(help="Records a second on average, instead of a speed-up.")
]
RecordsOption = Annotated[
    int | None, Option(help="Send only the first records of the trace.", min=1)
]
ShareOption = Annotated[
    str, Option(help="2/4: be the second of four clients that share the gateways.")
]
WaitingOption = Annotated[
    int,
    Option(help="Records that may be due and unacknowledged before the client waits."),
]
PatienceOption = Annotated[
    float, Option(help="Seconds after which an unacknowledged record is given up.")
]
LedgerOption = Annotated[Path | None, Option(help="Parquet file for what became of each record.")]
SentOption = Annotated[
    Path | None,
    Option(help="Parquet file for producer, sequence, topic, due, sent, acked, error and key."),
]
NameOption = Annotated[str, Option(help="The producer in the file of --sent.")]
SecretOption = Annotated[
    Path | None, Option(help="File with the secret that the gateways' tokens are made from.")
]
AuthorityOption = Annotated[
    Path | None, Option(help="Certificate (PEM) that the server's certificate is checked with.")
]
AsJsonOption = Annotated[bool, Option("--json", help="Print the summary as one JSON object.")]


def send(
    trace: TraceArgument,
    url: UrlOption = "http://127.0.0.1:8080",
    version: VersionOption = Version.COUNTER,
    serialisation: SerialisationOption = Serialisation.AVRO,
    schema: SchemaOption = NEWEST_SCHEMA,
    protocol: ProtocolOption = ClientProtocol.WEBSOCKET,
    speed_up: SpeedUpOption = 60.0,
    rate: RateOption = None,
    records: RecordsOption = None,
    share: ShareOption = "1/1",
    waiting: WaitingOption = 200_000,
    patience: PatienceOption = USUAL.record_s,
    ledger: LedgerOption = None,
    sent: SentOption = None,
    name: NameOption = "gateways",
    secret: SecretOption = None,
    authority: AuthorityOption = None,
    as_json: AsJsonOption = False,
) -> None:
    """Send a trace as its gateways would, on time. Latency counts from when a record was due.

    A gateway sends its records in order. After a 503, a closed socket or a lost connection it
    retries, with growing pauses. At the end, or after Ctrl-C, the ledger holds when each record was
    due, sent and acknowledged.
    """
    options = SendOptions(
        trace=trace,
        url=url,
        version=version,
        encoding=Encoding(serialisation, schema),
        protocol=protocol,
        speed_up=speed_up,
        rate=rate,
        records=records,
        share=_share(share),
        ledger=ledger,
        sent=sent,
        name=name,
        waiting_max=waiting,
        patience=Patience(record_s=patience),
        tokens=read_tokens(secret),
        authority=authority,
    )
    summary = uvloop.run(send_trace(options))
    if as_json:
        print(json.dumps(summary.as_dict()))
    else:
        _show(summary)
    if summary.acked < summary.records:
        raise Exit(NOT_ALL)


def _share(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit()):
        raise UsageError(f"a share looks like 2/4; asked for: {text}")
    return int(number), int(of)


def _show(summary: Summary) -> None:
    table = Table(show_header=False)
    table.add_row("records", f"{summary.records:,}")
    table.add_row("acknowledged", f"{summary.acked:,}")
    table.add_row("rejected, given up", f"{summary.rejected:,}, {summary.given_up:,}")
    table.add_row("sent again", f"{summary.attempts - summary.records:,} times")
    table.add_row(
        "due, sent, acknowledged",
        f"{summary.scheduled_per_s:,.0f}, {summary.sent_per_s:,.0f}, {summary.acked_per_s:,.0f} a "
        "second",
    )
    table.add_row(
        "latency from due",
        f"p50 {summary.p50_ms:.1f} ms, p99 {summary.p99_ms:.1f} ms, longest {summary.max_ms:.0f} "
        "ms",
    )
    Console().print(table)
