"""Run one ingest server until a signal stops it."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gateway_traffic.errors import ServiceError
from gateway_traffic.ingest.admission import Admission
from gateway_traffic.ingest.forwarder import Discard, Forwarder, KafkaForwarder, missing_topics
from gateway_traffic.ingest.limits import Limits
from gateway_traffic.ingest.server import Server
from gateway_traffic.ingest.tally import Tally
from gateway_traffic.ingest.tls import tls_context
from gateway_traffic.machine import allow_many_sockets
from gateway_traffic.records import Version, topic_of
from gateway_traffic.tokens import Tokens

log = logging.getLogger(__name__)

ASK_S = 5.0
"""Time limit for Kafka to list its topics; after it the server opens anyway."""


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of one server, as the command line gives them."""

    bootstrap: str
    """Kafka's address; empty: records are discarded, to measure the server alone."""
    host: str = "127.0.0.1"
    port: int = 8080
    prefix: str = "traffic"
    share_port: bool = False
    limits: Limits = field(default_factory=Limits)
    tokens: Tokens | None = None
    origins: tuple[str, ...] = ()
    """Origins of web pages that may send records, such as https://example.org."""
    certificate: Path | None = None
    key: Path | None = None


async def serve(options: ServeOptions, on_open: Callable[[int], None]) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises ServiceError if Kafka did not take everything that was accepted.
    """
    allow_many_sockets()
    tls = None
    if options.certificate:
        tls = tls_context(options.certificate, options.key)
    await _check_topics(options)
    forwarder: Forwarder = (
        KafkaForwarder(options.bootstrap, options.limits) if options.bootstrap else Discard()
    )
    admission = Admission(forwarder, options.limits, Tally(), options.tokens, options.prefix)
    server = Server(admission, options.origins)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(server.count_loop_error)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    on_open(await server.open(options.host, options.port, share_port=options.share_port, tls=tls))
    await stopped.wait()
    unsettled = await server.stop()
    if unsettled:
        raise ServiceError(
            f"stopped, but Kafka had not acknowledged {unsettled} records within "
            f"{options.limits.stop_s:g} s. "
            "No client was told that they were taken."
        )


async def _check_topics(options: ServeOptions) -> None:
    """Refuse missing topics. If Kafka does not answer, open anyway: clients wait until it does."""
    if not options.bootstrap:
        return
    topics = [topic_of(version, options.prefix) for version in Version]
    missing = await asyncio.to_thread(missing_topics, options.bootstrap, topics, ASK_S)
    if missing is None:
        log.warning(
            "Kafka at %s does not answer yet; clients wait until it does", options.bootstrap
        )
    elif missing:
        raise ServiceError(
            f"Kafka at {options.bootstrap} has no topic {', '.join(missing)}. "
            f"Make them: gateway-traffic topics --bootstrap {options.bootstrap} --prefix "
            f"{options.prefix}"
        )
