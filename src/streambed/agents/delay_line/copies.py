"""Copies of packets: NFQUEUE cannot duplicate a packet, so a copy is sent as a separate frame."""

from __future__ import annotations

import fcntl
import socket
import struct
from contextlib import suppress

from streambed.agents.delay_line.channel import enter

SIOCGIFNAME = 0x8910
ETHERTYPE_IP = 0x0800
COPIER = b"\x02copy!"
"""The source hardware address of copies, by which a queue at the other end knows them."""


class Outlet:
    """The port that a queue's packets leave by. Opened when first needed: the port is created after
    this process starts.
    """

    def __init__(self, namespace: int, index: int) -> None:
        enter(namespace)
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self._socket.setblocking(False)
        request = struct.pack("=16si20x", b"", index)
        interface = fcntl.ioctl(self._socket, SIOCGIFNAME, request)[:16].rstrip(b"\0").decode()
        self._socket.bind((interface, 0))
        with open("/proc/thread-self/net/arp") as file:
            self._head = (
                neighbour(file.read(), interface) + COPIER + struct.pack("!H", ETHERTYPE_IP)
            )

    def send(self, copies: list[bytes]) -> None:
        """Send copies; errors are ignored."""
        with suppress(OSError):  # The port is gone or full: packets would be lost too.
            for copy in copies:
                self._socket.send(self._head + copy)


def neighbour(table: str, interface: str) -> bytes:
    """The hardware address at the other end of an interface, from /proc/net/arp."""
    rows = (line.split() for line in table.splitlines()[1:])
    return next(bytes.fromhex(row[3].replace(":", "")) for row in rows if row[5] == interface)
