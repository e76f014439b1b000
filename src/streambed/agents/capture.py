"""Capture agent: writes the packets of a node's ports, both directions, into pcap files.

The kernel puts packets, with its own timestamps, into a ring of blocks that it shares with us
(AF_PACKET, TPACKET_V3) and hands over a block when it is full or old. A packet that finds no free
block is missing in the file and counted as lost; it is still delivered.
"""

from __future__ import annotations

import ctypes
import mmap
import select
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from streambed.agents.agent import Agent, read_order
from streambed.record.gauges import CapturedLink, CaptureGauge
from streambed.record.orders import CaptureOrder

ETH_P_ALL = 0x0003
SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION = 263, 5, 6, 10
TPACKET_V3 = 2
SO_ATTACH_FILTER = 26
BLOCK_BYTES, BLOCKS, FRAME_BYTES, OLD_MS = 1 << 20, 4, 2048, 50
OURS = 1
"""The status of a block that the kernel has handed over; zero gives it back."""
WAIT_MS = 200

NANOSECONDS, ETHERNET, LONGEST = 0xA1B23C4D, 1, 1 << 18
FILE_HEADER = struct.Struct("=IHHiIII")
PACKET_HEADER = struct.Struct("=IIII")
BLOCK = struct.Struct("=8xIII")
"""After version and offset: status, number of packets, offset of the first packet."""
PACKET = struct.Struct("=IIIII4xH")
"""Offset of the next packet, seconds, nanoseconds, captured length, full length; data offset."""


class Port:
    """One port and its file."""

    def __init__(self, *, interface: str, file: Path, snap: int, limit: int) -> None:
        self.packets = self.lost = 0
        self.full = False
        self._limit = limit
        self._block = 0
        # Protocol 0: no packets arrive before it is bound.
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V3)
        frames = BLOCK_BYTES * BLOCKS // FRAME_BYTES
        ring = struct.pack("=7I", BLOCK_BYTES, BLOCKS, FRAME_BYTES, frames, OLD_MS, 0, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_RX_RING, ring)
        self._ring = mmap.mmap(self.socket.fileno(), BLOCK_BYTES * BLOCKS)
        _limit_capture(self.socket, snap)
        self.socket.bind((interface, ETH_P_ALL))
        file.parent.mkdir(exist_ok=True)
        self._file = file.open("wb")
        self._file.write(FILE_HEADER.pack(NANOSECONDS, 2, 4, 0, 0, snap, ETHERNET))

    def take(self) -> None:
        """Write what the kernel has handed over."""
        while self._owner() & OURS:
            self._write(self._block * BLOCK_BYTES)
            struct.pack_into("=I", self._ring, self._block * BLOCK_BYTES + 8, 0)
            self._block = (self._block + 1) % BLOCKS
        self._file.flush()
        statistics = self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 12)
        _, lost, _ = struct.unpack("=III", statistics)
        self.lost += lost

    def _owner(self) -> int:
        owner: int = BLOCK.unpack_from(self._ring, self._block * BLOCK_BYTES)[0]
        return owner

    def _write(self, block: int) -> None:
        for seconds, nanoseconds, length, content in packets_of(self._ring, block):
            header = PACKET_HEADER.pack(seconds, nanoseconds, len(content), length)
            if self._file.tell() + len(header) + len(content) > self._limit:
                self.full = True
            if not self.full:
                self._file.write(header + content)
                self.packets += 1

    def close(self) -> None:
        """Close the socket, its ring and the file."""
        self._ring.close()
        self.socket.close()
        self._file.close()


def packets_of(ring: mmap.mmap, block: int) -> Iterator[tuple[int, int, int, bytes]]:
    """The packets of a block: seconds and nanoseconds of the wall clock, length, captured bytes."""
    _, count, at = BLOCK.unpack_from(ring, block)
    at += block
    for _ in range(count):
        step, seconds, nanoseconds, captured, length, begin = PACKET.unpack_from(ring, at)
        yield seconds, nanoseconds, length, ring[at + begin : at + begin + captured]
        at += step


def _limit_capture(channel: socket.socket, snap: int) -> None:
    """Attach the filter "return snap", so that the kernel copies no more of a packet."""
    instruction = ctypes.create_string_buffer(struct.pack("=HBBI", 0x06, 0, 0, snap))
    channel.setsockopt(
        socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("@HP", 1, ctypes.addressof(instruction))
    )


def main(order: CaptureOrder) -> None:
    """Write packets until stopped, then the rest of the ring."""
    agent = Agent()
    snap = order.snap or LONGEST
    ports = {
        link: Port(
            interface=declared.interface,
            file=Path(declared.file),
            snap=snap,
            limit=order.limit,
        )
        for link, declared in order.links.items()
    }
    poller = select.poll()
    for port in ports.values():
        poller.register(port.socket, select.POLLIN)

    def report(done: bool) -> None:
        links = {
            link: CapturedLink(packets=port.packets, lost=port.lost, full=port.full)
            for link, port in ports.items()
        }
        agent.report(CaptureGauge(ready=True, done=done, links=links))

    while not agent.stopping:
        if agent.report_is_due():
            report(done=False)
        poller.poll(WAIT_MS)
        for port in ports.values():
            port.take()
    poller.poll(2 * OLD_MS)  # The last block is handed over when it is old.
    for port in ports.values():
        port.take()
        port.close()
    report(done=True)


if __name__ == "__main__":
    main(read_order(CaptureOrder))
