"""Offloads of an interface, by the old ethtool call: bundles of segments are wanted for speed, not where single packets are lost."""

from __future__ import annotations

import array
import fcntl
import socket
import struct

from streambed.plan import Port

_SIOCETHTOOL = 0x8946
_SET_TSO = 0x1F
_SET_GSO = 0x24
_NAME_BYTES = 16


def switch_off(port: Port) -> None:
    """Let the calling thread's network send single packets through an interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        for command in (_SET_TSO, _SET_GSO):
            value = array.array("I", [command, 0])
            address, _ = value.buffer_info()
            fcntl.ioctl(channel, _SIOCETHTOOL, struct.pack(f"{_NAME_BYTES}sP16x", port.interface.encode(), address))
