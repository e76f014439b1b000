"""The queueing disciplines that a kernel has, as it describes them itself."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import Any

from streambed.net.network import Network

NEW_DISCIPLINE, GET_DISCIPLINE, DONE = 36, 38, 3
REQUEST_ALL = 0x301
HEADER = struct.Struct("=IHHII")
MESSAGE = struct.Struct("=BBHiIII")
KIND, OPTIONS = 1, 2
TBF_PARAMETERS = 1
NETEM_LATENCY, NETEM_JITTER = 10, 11
NETEM_OPTIONS = struct.Struct("=IIIIII")
WHOLE = (1 << 32) - 1
"""How netem writes a chance of one."""


def disciplines(net: Network) -> dict[str, Any]:
    """The shaping disciplines of each host and switch."""
    return {name: host.call(_shaping) for name, host in net.hosts.items()}


def _shaping() -> list[dict[str, Any]]:
    """Those of the network that the calling thread is in."""
    found = []
    for message in _dump():
        attributes = dict(_attributes(message[MESSAGE.size :]))
        kind = attributes[KIND].rstrip(b"\0").decode()
        if kind in READERS:
            found.append({"kind": kind, **READERS[kind](attributes[OPTIONS])})
    return sorted(found, key=lambda one: str(one["kind"]))


def _dump() -> Iterator[bytes]:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as channel:
        body = MESSAGE.pack(0, 0, 0, 0, 0, 0, 0)
        channel.send(HEADER.pack(HEADER.size + len(body), GET_DISCIPLINE, REQUEST_ALL, 1, 0) + body)
        while True:
            answer = channel.recv(1 << 16)
            while answer:
                length, kind, *_ = HEADER.unpack_from(answer)
                if kind == DONE:
                    return
                assert kind == NEW_DISCIPLINE, f"netlink message {kind}"
                yield answer[HEADER.size : length]
                answer = answer[length + -length % 4 :]


def _attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    while content:
        length, kind = struct.unpack_from("=HH", content)
        yield kind & 0x3FFF, content[4:length]
        content = content[length + -length % 4 :]


def _bucket(options: bytes) -> dict[str, Any]:
    parameters = dict(_attributes(options))[TBF_PARAMETERS]
    (rate_bytes,) = struct.unpack_from("=I", parameters, 8)
    (limit_bytes,) = struct.unpack_from("=I", parameters, 24)
    return {"rate_bps": 8 * rate_bytes, "queue_bytes": limit_bytes}


def _netem(options: bytes) -> dict[str, Any]:
    _, _, loss, _, duplicate, _ = NETEM_OPTIONS.unpack_from(options)
    attributes = dict(_attributes(options[NETEM_OPTIONS.size :]))
    (delay_ns,) = struct.unpack("=q", attributes[NETEM_LATENCY])
    (jitter_ns,) = struct.unpack("=q", attributes[NETEM_JITTER])
    return {
        "delay_ns": delay_ns,
        "jitter_ns": jitter_ns,
        "loss": round(loss / WHOLE, 6),
        "duplicate": round(duplicate / WHOLE, 6),
    }


READERS = {"tbf": _bucket, "netem": _netem}
