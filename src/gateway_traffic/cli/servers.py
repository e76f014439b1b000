"""The commands that make topics, run the ingest server and print tokens."""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import Annotated

import uvloop
from typer import Argument, Option

from gateway_traffic.errors import ServiceError, UsageError
from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.ingest.limits import Limits
from gateway_traffic.ingest.serve import ServeOptions
from gateway_traffic.ingest.serve import serve as serve_until_stopped
from gateway_traffic.records import Version, topic_of
from gateway_traffic.tokens import exposure_of, read_tokens

log = logging.getLogger(__name__)

USUAL = Limits()
CONNECT_S = 2.0
Bootstrap = Annotated[str, Option(help="Kafka's address, HOST:PORT, or several with commas.")]
Prefix = Annotated[
    str, Option(help="Topics are called PREFIX-cumulative, PREFIX-counter and PREFIX-rate.")
]


def topics(
    bootstrap: Bootstrap,
    partitions: Annotated[int, Option(help="Partitions of each topic.", min=1)] = 2,
    replicas: Annotated[int, Option(help="Replicas of each partition.", min=1)] = 1,
    prefix: Prefix = "traffic",
) -> None:
    """Make the three topics, one for each version, if they are not there."""
    refuse_unreachable(bootstrap)
    names = [topic_of(version, prefix) for version in Version]
    made = make_topics(bootstrap, names, partitions=partitions, replicas=replicas, within_s=30.0)
    print(f"{', '.join(names)}: {len(made)} made, {len(names) - len(made)} there already")


def refuse_unreachable(bootstrap: str) -> None:
    """Raise ServiceError if nothing listens at any of the addresses: librdkafka would try again
    until its limit.
    """
    reasons = []
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        if not port.isdigit():
            raise UsageError(f"--bootstrap: '{address}' is not an address: write HOST:PORT")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), CONNECT_S):
                return
        except OSError as error:
            reasons.append(f"{address.strip()}: {error.strerror or error}")
    raise ServiceError(
        f"no Kafka listens there ({'; '.join(reasons)}). Start one with `streambed up kafka`, or "
        "correct --bootstrap"
    )


BootstrapOption = Annotated[
    str,
    Option(help="Kafka's address. Empty: records are discarded, to measure the server alone."),
]
HostOption = Annotated[str, Option(help="Address to listen on.")]
PortOption = Annotated[int, Option(help="Port to listen on; 0: any free one, which is printed.")]
SharePortOption = Annotated[
    bool,
    Option(help="Let several servers listen on one port; the kernel spreads the connections."),
]
SecretOption = Annotated[
    Path | None,
    Option(
        help="File with the secret that tokens are made from. Without it no token is asked for."
    ),
]
CertificateOption = Annotated[
    Path | None,
    Option(help="Certificate (PEM) for TLS. Without it the server speaks plain HTTP."),
]
KeyOption = Annotated[
    Path | None, Option(help="The certificate's key, if it is not in the same file.")
]
OutstandingOption = Annotated[
    int, Option(help="Records that may wait for Kafka before clients are held back.")
]
RecordBytesOption = Annotated[int, Option(help="Maximum size of a record.")]
ConnectionsOption = Annotated[int, Option(help="Maximum number of connections.")]
ConnectionsPerAddressOption = Annotated[
    int, Option(help="Maximum number of connections from one address; gateways may share one.")
]
FirstRecordSOption = Annotated[
    float, Option(help="Time for the first valid record of a connection.")
]
AllowOriginOption = Annotated[
    list[str] | None,
    Option(
        help="Let web pages of this origin send records, such as https://example.org; may be "
        "repeated."
    ),
]
IdleSOption = Annotated[
    float, Option(help="Time without a record after which a connection is cut off.")
]
HoldSOption = Annotated[
    float, Option(help="Time limit for Kafka; then a client must send its request again.")
]
StopSOption = Annotated[
    float, Option(help="Time for Kafka to acknowledge the rest after a signal to stop.")
]


def serve(
    bootstrap: BootstrapOption,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    share_port: SharePortOption = False,
    prefix: Prefix = "traffic",
    secret: SecretOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    outstanding: OutstandingOption = USUAL.outstanding_records,
    record_bytes: RecordBytesOption = USUAL.record_bytes,
    connections: ConnectionsOption = USUAL.connections,
    connections_per_address: ConnectionsPerAddressOption = USUAL.connections_per_address,
    first_record_s: FirstRecordSOption = USUAL.first_record_s,
    allow_origin: AllowOriginOption = None,
    idle_s: IdleSOption = USUAL.idle_s,
    hold_s: HoldSOption = USUAL.hold_s,
    stop_s: StopSOption = USUAL.stop_s,
) -> None:
    """Take records in by HTTP and WebSocket, and acknowledge each once Kafka has.

    POST /v1/VERSION takes one record; its Content-Type is application/json;schema=2 or
    application/avro;schema=2, or schema=1. The WebSocket /v1/VERSION/socket takes one gateway's
    records; its subprotocol is json.2, avro.2, json.1 or avro.1. GET /health and /metrics show its
    state. SIGTERM stops it without loss.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    _warn_if_readable(secret, key or certificate)
    limits = Limits(
        outstanding_records=outstanding,
        record_bytes=record_bytes,
        connections=connections,
        connections_per_address=connections_per_address,
        first_record_s=first_record_s,
        idle_s=idle_s,
        hold_s=hold_s,
        stop_s=stop_s,
    )
    options = ServeOptions(
        bootstrap=bootstrap,
        host=host,
        port=port,
        prefix=prefix,
        share_port=share_port,
        limits=limits,
        tokens=read_tokens(secret),
        origins=tuple(allow_origin or ()),
        certificate=certificate,
        key=key,
    )
    scheme = "https" if certificate else "http"

    def announce(opened_port: int) -> None:
        print(f"ready {scheme}://{host}:{opened_port}", flush=True)

    uvloop.run(serve_until_stopped(options, announce))


def _warn_if_readable(*files: Path | None) -> None:
    """Warn about secret files that other users may read."""
    for file in files:
        if file and (warning := exposure_of(file)):
            log.warning("%s", warning)


def token(
    gateway_id: Annotated[str, Argument(help="The gateway.")],
    secret: Annotated[Path, Option(help="File with the secret.")],
) -> None:
    """Print the token of a gateway."""
    tokens = read_tokens(secret)
    if tokens is None:
        raise UsageError("a secret is needed")
    print(tokens.of(gateway_id))
