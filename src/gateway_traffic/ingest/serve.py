"""Run one ingest server until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gateway_traffic.errors import ServiceError, UsageError
from gateway_traffic.ingest.entrance import Entrance
from gateway_traffic.ingest.forwarder import Discard, Forwarder, KafkaForwarder, missing_topics
from gateway_traffic.ingest.limits import Limits
from gateway_traffic.ingest.server import Server
from gateway_traffic.ingest.tally import Tally
from gateway_traffic.machine import allow_many_sockets
from gateway_traffic.records import Version, topic_of
from gateway_traffic.tokens import Tokens

log = logging.getLogger(__name__)

ASK_S = 5.0
"""How long Kafka is asked for its topics before the server opens without an answer."""


@dataclass(frozen=True, kw_only=True)
class Serving:
    """What is asked of a server."""

    bootstrap: str
    """Kafka's address; empty: records are discarded, to measure the server alone."""
    host: str = "127.0.0.1"
    port: int = 8080
    prefix: str = "traffic"
    share_port: bool = False
    limits: Limits = field(default_factory=Limits)
    tokens: Tokens | None = None
    certificate: Path | None = None
    key: Path | None = None


async def serve(serving: Serving, on_open: Callable[[int], None]) -> None:
    """Serve until SIGTERM or SIGINT. Raises ServiceError if Kafka did not take everything that was
    accepted.
    """
    allow_many_sockets()
    tls = _tls(serving)
    await _see_to_topics(serving)
    forwarder: Forwarder = (
        KafkaForwarder(serving.bootstrap, serving.limits) if serving.bootstrap else Discard()
    )
    server = Server(Entrance(forwarder, serving.limits, Tally(), serving.tokens, serving.prefix))
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    on_open(await server.open(serving.host, serving.port, share_port=serving.share_port, tls=tls))
    await stopped.wait()
    unsettled = await server.stop()
    if unsettled:
        raise ServiceError(
            f"stopped, but Kafka had not acknowledged {unsettled} records within "
            f"{serving.limits.stop_s:g} s. "
            "No client was told that they were taken."
        )


async def _see_to_topics(serving: Serving) -> None:
    """Missing topics are a mistake. A Kafka that is away is not: the server opens and holds its
    clients back until it comes.
    """
    if not serving.bootstrap:
        return
    topics = [topic_of(version, serving.prefix) for version in Version]
    missing = await asyncio.to_thread(missing_topics, serving.bootstrap, topics, ASK_S)
    if missing is None:
        log.warning(
            "Kafka at %s does not answer yet; clients wait until it does", serving.bootstrap
        )
    elif missing:
        raise ServiceError(
            f"Kafka at {serving.bootstrap} has no topic {', '.join(missing)}. "
            f"Make them: gateway-traffic topics --bootstrap {serving.bootstrap} --prefix "
            f"{serving.prefix}"
        )


def _tls(serving: Serving) -> ssl.SSLContext | None:
    if not serving.certificate:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(serving.certificate, serving.key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"the certificate {serving.certificate} and its key cannot be used: {error}"
        ) from None
    return context
