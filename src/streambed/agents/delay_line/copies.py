"""Copies of packets: the kernel judges a packet but does not double it, so a copy is sent as a
frame of its own.
"""

from __future__ import annotations

import fcntl
import socket
import struct
from contextlib import suppress

from streambed.agents.delay_line.channel import enter

SIOCGIFNAME = 0x8910
ETHERTYPE_IP = 0x0800
COPIER = b"\x02copy!"
"""The hardware address that copies come from: a queue at the other end of the link knows them by
it.
"""


class Outlet:
    """The port that the packets of a queue leave by. Made when first needed: the port itself is
    made after this process.
    """

    def __init__(self, namespace: int, index: int) -> None:
        enter(namespace)
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self._socket.setblocking(False)
        asked = struct.pack("=16si20x", b"", index)
        interface = fcntl.ioctl(self._socket, SIOCGIFNAME, asked)[:16].rstrip(b"\0").decode()
        self._socket.bind((interface, 0))
        with open("/proc/thread-self/net/arp") as file:
            self._head = (
                neighbour(file.read(), interface) + COPIER + struct.pack("!H", ETHERTYPE_IP)
            )

    def send(self, copies: list[bytes]) -> None:
        """Send copies."""
        with suppress(OSError):  # The port is gone or full: it would have lost packets too.
            for copy in copies:
                self._socket.send(self._head + copy)


def neighbour(table: str, interface: str) -> bytes:
    """The hardware address at the other end of an interface, by the kernel's table of neighbours
    (/proc/net/arp).
    """
    rows = (line.split() for line in table.splitlines()[1:])
    return next(bytes.fromhex(row[3].replace(":", "")) for row in rows if row[5] == interface)
