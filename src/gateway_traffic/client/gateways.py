"""Gateways that send records: one connection a record, a persistent connection, or a WebSocket.

Each sends its records in order. After a 503, a closed socket or a lost connection it sends again
after a pause.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Protocol

from gateway_traffic.client.http_channel import HttpChannel
from gateway_traffic.client.ledger import Sending
from gateway_traffic.client.session import ClientProtocol, ClientSession
from gateway_traffic.client.websocket_channel import ABNORMAL, WebSocketChannel

WINDOW = 128
"""Most unacknowledged records of one WebSocket."""
RETRIED = (408, 425, 429, 500, 502, 503, 504)
TOO_BIG = 1009


class Gateway(Protocol):
    """Sends the records of one gateway in order."""

    def open(self) -> None:
        """Open a WebSocket before the first record is due; other protocols do nothing."""

    @property
    def opening(self) -> bool:
        """Whether a WebSocket is being opened."""

    def offer(self, sending: Sending) -> None:
        """Send or queue a record that is due."""

    def watch(self, now_ns: int) -> None:
        """Drop a connection whose answer is overdue; called periodically."""

    def close(self) -> None:
        """Close all connections and give up what is left."""


def gateway_for(protocol: ClientProtocol, session: ClientSession, gateway_id: str) -> Gateway:
    """A gateway that speaks this protocol."""
    if protocol is ClientProtocol.WEBSOCKET:
        return SocketGateway(session, session.head(gateway_id, protocol))
    return PostGateway(
        session, session.head(gateway_id, protocol), keep=protocol is ClientProtocol.KEEP_ALIVE
    )


class PostGateway:
    """Posts one record at a time."""

    def __init__(self, session: ClientSession, head: bytes, *, keep: bool) -> None:
        self._session = session
        self._head = head
        self._keep = keep
        self._waiting: deque[Sending] = deque()
        self._current: Sending | None = None
        self._channel: HttpChannel | None = None
        self._began_ns = 0
        self._failures = 0

    def open(self) -> None:
        """Do nothing: the server cuts off a connection without a request."""

    @property
    def opening(self) -> bool:
        """Always false: it connects with its first record."""
        return False

    def offer(self, sending: Sending) -> None:
        """Queue a record."""
        self._waiting.append(sending)
        if self._current is None:
            self._next()

    def watch(self, now_ns: int) -> None:
        """Treat an overdue answer as a lost connection."""
        if self._began_ns and now_ns - self._began_ns > self._session.patience.answer_s * 1e9:
            if self._channel:
                self._channel.close()
            self.lost("no answer")

    def close(self) -> None:
        """Close the connection; give up what is left."""
        if self._channel:
            self._channel.close()
        left = [self._current, *self._waiting] if self._current else [*self._waiting]
        self._current, self._began_ns = None, 0
        self._waiting.clear()
        for sending in left:
            self._session.settle(sending, 0)

    def ready(self) -> None:
        """The connection is open: send the current record."""
        if self._current and self._channel:
            self._channel.post(self._current.start_attempt())

    def answered(self, status: int, retry_after_s: float) -> None:
        """Settle the current record, or send it again."""
        sending = self._current
        if sending is None or not self._began_ns:
            return
        self._began_ns = 0
        if not self._keep and self._channel:
            self._channel.close()
        if status in RETRIED:
            self._retry(sending, status, retry_after_s)
        else:
            self._failures = 0
            acked_ns = time.monotonic_ns() if 200 <= status < 300 else 0
            self._session.settle(sending, status, acked_ns)
            self._next()

    def lost(self, why: str) -> None:
        """The connection is gone; retry the current record if its answer was awaited."""
        self._channel = None
        if self._current and self._began_ns:
            self._began_ns = 0
            self._retry(self._current, 0, 0.0)

    def _next(self) -> None:
        self._current = self._waiting.popleft() if self._waiting else None
        if self._current:
            self._send()

    def _send(self) -> None:
        if self._current is None:  # Given up during a pause.
            return
        self._began_ns = time.monotonic_ns()
        if self._channel and self._channel.usable:
            self.ready()
        else:
            self._channel = HttpChannel(self, self._head)
            self._session.connect(self._channel)

    def _retry(self, sending: Sending, status: int, retry_after_s: float) -> None:
        if self._session.overdue(sending):
            self._session.settle(sending, status)
            self._next()
            return
        self._failures += 1
        pause_s = self._session.patience.pause_s(self._failures, retry_after_s)
        asyncio.get_running_loop().call_later(pause_s, self._send)


class SocketGateway:
    """Keeps a WebSocket open, with up to WINDOW records in flight."""

    def __init__(self, session: ClientSession, head: bytes) -> None:
        self._session = session
        self._head = head
        self._waiting: deque[Sending] = deque()
        self._unacked: deque[Sending] = deque()
        self._acked = 0
        self._channel: WebSocketChannel | None = None
        self._pausing = False
        self._heard_ns = 0
        self._failures = 0

    def open(self) -> None:
        """Open a new socket; its acknowledgements count from zero."""
        self._acked = 0
        self._channel = WebSocketChannel(self, self._head)
        self._session.connect(self._channel)

    @property
    def opening(self) -> bool:
        """Whether the socket is being opened."""
        return self._channel is not None and self._channel.opening

    def offer(self, sending: Sending) -> None:
        """Send it at once if the socket and the window allow."""
        self._waiting.append(sending)
        if self._channel is None:
            self._reopen()
        elif self._channel.usable:
            self.ready()

    def watch(self, now_ns: int) -> None:
        """Close a socket whose acknowledgement is overdue."""
        if (
            self._channel
            and self._unacked
            and now_ns - self._heard_ns > self._session.patience.answer_s * 1e9
        ):
            self._channel.close()
            self.closed(0, "no acknowledgement")

    def close(self) -> None:
        """Close the socket; give up what is left."""
        if self._channel:
            self._channel.close()
        left = [*self._unacked, *self._waiting]
        self._unacked.clear()
        self._waiting.clear()
        for sending in left:
            self._session.settle(sending, 0)

    def ready(self) -> None:
        """The socket is open: send what the window allows."""
        channel, waiting, unacked = self._channel, self._waiting, self._unacked
        if not unacked:
            self._heard_ns = time.monotonic_ns()
        while waiting and channel and channel.usable and len(unacked) < WINDOW:
            sending = waiting.popleft()
            unacked.append(sending)
            channel.send(sending.start_attempt())

    def acked(self, count: int) -> None:
        """The first `count` records of this socket have been acknowledged."""
        now_ns = self._heard_ns = time.monotonic_ns()
        self._failures = 0
        while self._acked < count and self._unacked:
            self._acked += 1
            self._session.settle(self._unacked.popleft(), 204, now_ns)
        self.ready()

    def closed(self, code: int, why: str, retry_after_s: float = 0.0) -> None:
        """Give up what was rejected; send the rest again, in order, over a new socket."""
        self._channel = None
        status = _status(code)
        self._waiting.extendleft(reversed(self._unacked))
        self._unacked.clear()
        if 400 <= status < 500 and status not in RETRIED and self._waiting:
            self._reject(status, all_of_them=code < 1000)
        elif code == TOO_BIG and self._waiting:
            culprit = max(self._waiting, key=lambda sending: len(sending.payload))
            self._waiting.remove(culprit)
            self._session.settle(culprit, 413)
        else:
            self._failures += 1
            while self._waiting and self._session.overdue(self._waiting[0]):
                self._session.settle(self._waiting.popleft(), status)
        if not self._pausing:
            self._pause(retry_after_s)

    def _reject(self, status: int, *, all_of_them: bool) -> None:
        """A closed socket rejects its first unacknowledged record; a refused one all that wait."""
        for _ in range(len(self._waiting) if all_of_them else 1):
            self._session.settle(self._waiting.popleft(), status)

    def _reopen(self) -> None:
        if self._channel is None and self._waiting and not self._pausing:
            self.open()

    def _pause(self, retry_after_s: float) -> None:
        self._pausing = True
        pause_s = self._session.patience.pause_s(max(1, self._failures), retry_after_s)
        asyncio.get_running_loop().call_later(pause_s, self._end_pause)

    def _end_pause(self) -> None:
        self._pausing = False
        self._reopen()


def _status(code: int) -> int:
    """The status for the ledger: the server adds 4000 to an HTTP status; 0 for a lost socket."""
    if code >= 4000:
        return code - 4000
    return 0 if code == ABNORMAL else code
