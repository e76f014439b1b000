"""Exposure: ports of hosts on the user's own loopback.

    browser ──▶ 127.0.0.1:8080 ══ opened by the launcher, inherited ══▶ conductor
    conductor ── socket of the host ──▶ spark:4040

A socket stays in the network namespace in which it was opened, no matter which process holds it.
So the launcher listens before it starts the box, and the conductor accepts inside.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from streambed.errors import WorldError
from streambed.record.events import Exposed

if TYPE_CHECKING:
    from streambed.plan import Exposure, Plan
    from streambed.runner.live_world import LiveWorld

LOOPBACK = "127.0.0.1"
PIECE_BYTES = 1 << 16
CONNECT_S = 5.0
_WHY = {
    errno.EADDRINUSE: "another program listens there: end it, or expose another port",
    errno.EACCES: "ports below 1024 are for root: expose one above",
}


@contextlib.contextmanager
def listen_on_ports(decided: Plan) -> Iterator[Plan]:
    """Listen on the exposed ports during the block; yields the plan with their descriptors."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(_listener(exposure)) for exposure in decided.exposures]
        exposures = zip(decided.exposures, opened, strict=True)
        yield replace(
            decided,
            exposures=tuple(
                replace(exposure, descriptor=listener.fileno()) for exposure, listener in exposures
            ),
        )


def _listener(exposure: Exposure) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, exposure.port))
    except OSError as error:
        why = _WHY.get(error.errno or 0, str(error.strerror))
        raise WorldError(
            f"{exposure.node}:{exposure.target_port} cannot be exposed on port {exposure.port}: "
            f"{why}"
        ) from error


@contextlib.contextmanager
def forward_exposed_ports(world: LiveWorld) -> Iterator[None]:
    """Forward connections to the exposed ports, during the block."""
    if not world.plan.exposures:
        yield
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="exposure")
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(_serve(world), loop).result()
        for exposure in world.plan.exposures:
            world.record(
                Exposed(node=exposure.node, target_port=exposure.target_port, port=exposure.port)
            )
        yield
    finally:
        asyncio.run_coroutine_threadsafe(_end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _serve(world: LiveWorld) -> None:
    for exposure in world.plan.exposures:
        listener = socket.socket(fileno=os.dup(exposure.descriptor))
        forwarder = _Forwarder(world, exposure)
        await asyncio.start_server(forwarder.forward, sock=listener)


async def _end() -> None:
    """Cancel every open connection."""
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


class _Forwarder:
    """Forwards connections of one port to the program on the host."""

    def __init__(self, world: LiveWorld, exposure: Exposure) -> None:
        self._world = world
        self._exposure = exposure
        self._address = world.plan.node(exposure.node).address

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward bytes both ways until both ends have closed; close at once if nothing listens."""
        try:
            inner_reader, inner_writer = await self._connect()
            await asyncio.gather(_pass_on(reader, inner_writer), _pass_on(inner_reader, writer))
            await _close(inner_writer)
        except (OSError, asyncio.CancelledError):
            # Nothing listens, one end closed, or the run ends: asyncio would log a cancelled task.
            pass
        finally:
            await _close(writer)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Try the host's address, then its loopback: a program may listen on either."""
        refused = OSError("nobody listens")
        for address in (self._address, LOOPBACK):
            inner = self._world.call(
                self._exposure.node, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            )
            inner.setblocking(False)
            try:
                await asyncio.wait_for(
                    asyncio.get_running_loop().sock_connect(
                        inner, (address, self._exposure.target_port)
                    ),
                    CONNECT_S,
                )
                return await asyncio.open_connection(sock=inner)
            except OSError as error:
                inner.close()
                refused = error
        raise refused


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
