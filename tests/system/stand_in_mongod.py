"""Stands in for MongoDB's server, which no registry has: takes its options and answers a hello in its protocol."""

from __future__ import annotations

import socket
import struct
import sys

DOCUMENT = b"\x01ok\x00" + struct.pack("<d", 1.0)


def main() -> None:
    options = dict(word.removeprefix("--").partition("=")[::2] for word in sys.argv[1:])
    assert {"bind_ip_all", "port", "dbpath", "quiet"} == set(options), options
    with socket.create_server(("0.0.0.0", int(options["port"]))) as listener:
        while True:
            door, _ = listener.accept()
            with door:
                length, request, _, code = struct.unpack("<4i", door.recv(16, socket.MSG_WAITALL))
                assert code == 2013 and b"hello" in door.recv(length - 16, socket.MSG_WAITALL)
                body = struct.pack("<iB", 0, 0) + struct.pack("<i", 4 + len(DOCUMENT) + 1) + DOCUMENT + b"\x00"
                door.sendall(struct.pack("<4i", 16 + len(body), 2, request, 2013) + body)


if __name__ == "__main__":
    main()
