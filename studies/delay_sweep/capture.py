"""Record every TCP segment that this host sends or receives, to count round trips later.

    capture.py FILE        one line each: time_ns out|in local-port peer:port payload-bytes flags

It uses a packet socket in the host's network namespace.
"""

from __future__ import annotations

import signal
import socket
import struct
import sys
import time
from pathlib import Path

ETH_P_ALL, ETH_P_IP = 0x0003, 0x0800  # ETH_P_ALL: other protocols do not show outgoing packets.
OUTGOING = 4
SNAP_BYTES = 128


def main(path: Path) -> None:
    """Write until stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listener = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    with path.open("w", buffering=1 << 16) as file:
        try:
            while True:
                packet, origin = listener.recvfrom(SNAP_BYTES)
                if origin[0] != "lo" and origin[1] == ETH_P_IP and packet[9] == socket.IPPROTO_TCP:
                    file.write(
                        f"{time.monotonic_ns()} {described(packet, sent=origin[2] == OUTGOING)}\n"
                    )
        finally:
            file.flush()


def described(packet: bytes, *, sent: bool) -> str:
    """Direction, ports and payload of one packet."""
    header = (packet[0] & 15) * 4
    length = struct.unpack_from("!H", packet, 2)[0]
    source, target = struct.unpack_from("!HH", packet, header)
    payload = length - header - (packet[header + 12] >> 4) * 4
    local, peer = (source, target) if sent else (target, source)
    address = socket.inet_ntoa(packet[16:20] if sent else packet[12:16])
    return f"{'out' if sent else 'in'} {local} {address}:{peer} {payload} {packet[header + 13]}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
