"""One direction of a link: the packets it holds, and when each is due."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from streambed.agents.delay_line.chance import Chance
from streambed.agents.delay_line.channel import Verdicts
from streambed.agents.delay_line.copies import COPIER, Outlet
from streambed.agents.delay_line.gauge import Gauge

NEVER_NS = 1 << 62
PLAIN: dict[str, Any] = {
    "delay_ns": 0,
    "jitter_ns": 0,
    "table": [],
    "in_order": False,
    "loss": 0.0,
    "enter": 0.0,
    "leave": 0.0,
    "bad": 1.0,
    "good": 0.0,
    "reorder": 0.0,
    "duplicate": 0.0,
    "corrupt": 0.0,
    "held": False,
}
"""The defaults of a queue."""

Held = tuple[int, int, int, bytes]
"""When a packet is due, its id, how many before it go with it or A_COPY, and its new content."""
A_COPY = -1
Content = Callable[[], tuple[bytes, bytes]]
"""Returns the hardware address of a packet's sender, and the packet."""


class Judge(Protocol):
    """What a queue needs of its channel."""

    def send(self, messages: list[bytes]) -> None:
        """Send verdicts."""

    def treat(self, number: int, whole: bool, single: bool) -> None:
        """Change how packets come up."""


def needs_single(shape: dict[str, Any]) -> bool:
    """Whether segments of one send must come singly, because each has its own fate. As one packet
    they are faster.
    """
    return 0 < shape["loss"] < 1 or any(
        shape[key] for key in ("jitter_ns", "enter", "reorder", "duplicate", "corrupt")
    )


def needs_whole(shape: dict[str, Any]) -> bool:
    """Whether whole packets are needed, to corrupt or duplicate them."""
    return bool(shape["corrupt"] or shape["duplicate"])


class Queue:
    """Holds packets in one of two structures.

    In a row, if none can overtake another: packets that came together are one entry, and one
    verdict releases all up to the last. Otherwise in a heap, with an entry and a verdict for each.
    """

    def __init__(self, channel: Judge, declared: dict[str, Any], seed: int, gauge: Gauge) -> None:
        self.number: int = declared["number"]
        self.next_ns = NEVER_NS
        """When its first packet is due, as far as the engine knows."""
        self._channel = channel
        self._gauge = gauge
        self._verdicts = Verdicts(self.number)
        self._chance = Chance(f"{seed} {self.number}")
        self._port = declared.get("sender_namespace", -1), declared.get("sender_index", 0)
        self._outlet: Outlet | None = None
        self._row: deque[Held] = deque()
        self._heap: list[Held] = []
        self._jammed: list[int] = []
        """Packets that are held until the queue is changed."""
        self._last_due_ns = 0
        self._set_shape({**PLAIN, **declared})

    def _set_shape(self, shape: dict[str, Any]) -> None:
        self._shape = shape
        self.delay_ns: int = shape["delay_ns"]
        self._is_held: bool = shape["held"]
        self._is_plain = not any(
            shape[key]
            for key in ("loss", "enter", "jitter_ns", "in_order", "reorder", "duplicate", "corrupt")
        )
        self._is_whole = needs_whole(shape)
        self._forms_a_row = (shape["in_order"] or not shape["jitter_ns"]) and not (
            shape["reorder"] or self._is_whole
        )

    def change(self, wanted: dict[str, Any], now_ns: int = 0) -> None:
        """Apply new settings. Waiting packets keep their due time: later ones may overtake them.
        Packets that were held, and no longer are, are due now.
        """
        self._set_shape({**PLAIN, **wanted})
        # One of the two is empty, and a row is sorted: the result is a heap.
        self._heap.extend(self._row)
        self._row.clear()
        if not self._is_held:
            for packet in self._jammed:
                heapq.heappush(self._heap, (now_ns, packet, 0, b""))
            self._jammed.clear()
        self._channel.treat(self.number, self._is_whole, needs_single(self._shape))

    def take(self, packet: int, arrived_ns: int, content: Content) -> int:
        """Take a packet. Returns when it is due, or NEVER_NS if it need not wait. A copy of it gets
        separate draws.
        """
        if self._is_held:
            self._jammed.append(packet)
            return NEVER_NS
        if self._is_plain:
            return self._hold(arrived_ns + self.delay_ns, packet)
        if self._is_whole and content()[0] == COPIER:
            # A copy has waited already, before it was sent.
            self._channel.send([self._verdicts.accept(packet)])
            return NEVER_NS
        copy_due_ns = NEVER_NS
        if self._chance.happens(self._shape["duplicate"]) and not self._chance.loses(self._shape):
            copy_due_ns = self._hold(
                self._due_ns(arrived_ns), packet, A_COPY, self._corrupt(content) or content()[1]
            )
        if self._chance.loses(self._shape):
            self._gauge.dropped += 1
            self._channel.send([self._verdicts.drop(packet)])
            return copy_due_ns
        return min(
            copy_due_ns, self._hold(self._due_ns(arrived_ns), packet, 0, self._corrupt(content))
        )

    def _due_ns(self, arrived_ns: int) -> int:
        shape, chance = self._shape, self._chance
        if chance.happens(shape["reorder"]):
            return arrived_ns
        due_ns = arrived_ns + chance.delay_ns(shape)
        return max(due_ns, self._last_due_ns) if shape["in_order"] else due_ns

    def _corrupt(self, content: Content) -> bytes:
        """The corrupted packet; empty if it stays as it is."""
        return (
            self._chance.flip_a_bit(content()[1])
            if self._chance.happens(self._shape["corrupt"])
            else b""
        )

    def _hold(self, due_ns: int, packet: int, kind: int = 0, content: bytes = b"") -> int:
        if not self._forms_a_row or self._heap:
            heapq.heappush(self._heap, (due_ns, packet, kind, content))
        elif self._row and due_ns <= self._last_due_ns:
            due_ns, _, others, _ = self._row[-1]
            self._row[-1] = (due_ns, packet, others + 1, b"")
        else:
            self._row.append((due_ns, packet, 0, b""))
        self._last_due_ns = due_ns
        return due_ns

    @property
    def head_ns(self) -> int:
        """When the next packet is due; NEVER_NS if none waits."""
        held = self._row or self._heap
        return held[0][0] if held else NEVER_NS

    def release(self, now_ns: int) -> int:
        """Release all packets that are due. Returns their number."""
        return self._release_row(now_ns) if self._row else self._release_heap(now_ns)

    def _release_row(self, now_ns: int) -> int:
        row, last, count = self._row, 0, 0
        while row and row[0][0] <= now_ns:
            due_ns, last, others, _ = row.popleft()
            self._gauge.add(now_ns - due_ns, others + 1)
            count += others + 1
        if count:
            self._channel.send([self._verdicts.accept_up_to(last)])
        return count

    def _release_heap(self, now_ns: int) -> int:
        heap, messages, copies, count = self._heap, [], [], 0
        while heap and heap[0][0] <= now_ns:
            due_ns, packet, others, content = heapq.heappop(heap)
            if others == A_COPY:
                copies.append(content)
            else:
                messages.append(
                    self._verdicts.accept_up_to(packet)
                    if others
                    else self._verdicts.accept(packet, content)
                )
            packets = max(1, others + 1)
            self._gauge.add(now_ns - due_ns, packets)
            count += packets
        if messages:
            self._channel.send(messages)
        if copies:
            self._outlet = self._outlet or Outlet(*self._port)
            self._outlet.send(copies)
        return count
