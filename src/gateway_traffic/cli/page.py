"""The command that serves the live page."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path
from typing import Annotated

import uvloop
from typer import Option

from gateway_traffic.cli.jobs import StoreAddress
from gateway_traffic.errors import UsageError
from gateway_traffic.page.lag import lag_of
from gateway_traffic.page.server import serve
from gateway_traffic.page.state import State
from gateway_traffic.records import Version, topic_of
from gateway_traffic.stores.opening import open_store


def page(
    store: StoreAddress = "traffic.db",
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, Option(help="Port to listen on; 0: any free one, which is printed.")
    ] = 8090,
    every: Annotated[float, Option(help="Seconds between two looks at the store.", min=0.1)] = 1.0,
    bootstrap: Annotated[
        str,
        Option(help="Kafka's address, to show the job's lag; needs --checkpoint too."),
    ] = "",
    checkpoint: Annotated[Path | None, Option(help="The job's checkpoint.")] = None,
    topic: Annotated[str, Option(help="The job's topic.")] = topic_of(Version.COUNTER),
    allow_host: Annotated[
        list[str] | None,
        Option(
            help="A name that browsers may call this server by, besides its address and localhost; "
            "may be repeated."
        ),
    ] = None,
) -> None:
    """Serve a page with the busiest gateways, totals and rates as they change, until stopped."""
    if bool(bootstrap) != bool(checkpoint):
        raise UsageError(
            "the job's lag needs both --bootstrap and --checkpoint: give both or neither"
        )
    lag = lag_of(bootstrap, topic, checkpoint) if checkpoint else lambda: None
    opened = open_store(store, read_only=True)
    try:
        uvloop.run(_serve_until_stopped(State(opened, lag), host, port, every, allow_host or []))
    finally:
        opened.close()


async def _serve_until_stopped(
    state: State, host: str, port: int, every: float, names: list[str]
) -> None:
    def announce(opened_port: int) -> None:
        print(f"ready http://{host}:{opened_port}", flush=True)

    serving = asyncio.ensure_future(serve(state, host, port, every, announce, names))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await serving
