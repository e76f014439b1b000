"""Counters of all ports of a network. They are read every second, so reading must be cheap.

Both ends of a link count the same packets, what one sent the other received: the kernel keeps one
count for both. So only one end of each is read, the switch's if there is one, because a switch has
many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Protocol

from streambed.plan import PlannedLink, Port

METRICS = ("port_rx_bytes", "port_tx_bytes", "port_rx_packets", "port_tx_packets")
_HEADINGS, _FIELDS = 2, 17
_RX_BYTES, _RX_PACKETS, _TX_BYTES, _TX_PACKETS = 1, 2, 9, 10


class Counted(Protocol):
    """A host, as far as its counters go."""

    def counters(self) -> bytes:
        """The text of /proc/net/dev."""


class PortCounters:
    """The counters of all ports: `names` says of which, in the order of the values that `read`
    returns, four for each port.
    """

    def __init__(
        self, links: Iterable[PlannedLink], switches: set[str], hosts: Mapping[str, Counted]
    ) -> None:
        self._places: list[tuple[Counted, list[bytes]]] = []
        self.names: list[str] = []
        """Ports as "node/interface"."""
        for node, wires in _by_reader(links, switches).items():
            self._places.append((hosts[node], [f"{own.interface}:".encode() for own, _ in wires]))
            self.names += [f"{port.node}/{port.interface}" for wire in wires for port in wire]

    def read(self) -> list[float]:
        """For each port the values of METRICS, now."""
        values: list[float] = []
        for host, interfaces in self._places:
            fields = host.counters().split(b"\n", _HEADINGS)[_HEADINGS].split()
            place_of = dict(zip(fields[::_FIELDS], range(0, len(fields), _FIELDS), strict=True))
            for interface in interfaces:
                values += _both_ends(fields, place_of[interface])
        return values

    def by_name(self) -> dict[str, tuple[float, ...]]:
        """The values of METRICS of each port, now."""
        values, width = self.read(), len(METRICS)
        return {
            name: tuple(values[at * width : (at + 1) * width]) for at, name in enumerate(self.names)
        }


def _by_reader(
    links: Iterable[PlannedLink], switches: set[str]
) -> dict[str, list[tuple[Port, Port]]]:
    """The links that are read at each node, each as its own port and the port at the other end."""
    ports: dict[str, list[tuple[Port, Port]]] = defaultdict(list)
    for link in links:
        own, other = link.ports if link.ports[0].node in switches else link.ports[::-1]
        ports[own.node].append((own, other))
    return ports


def _both_ends(fields: list[bytes], place: int) -> tuple[float, ...]:
    """The counts of one interface, and those of the other end, which follow from them."""
    received, sent = float(fields[place + _RX_BYTES]), float(fields[place + _TX_BYTES])
    packets_received, packets_sent = (
        float(fields[place + _RX_PACKETS]),
        float(fields[place + _TX_PACKETS]),
    )
    return (
        received,
        sent,
        packets_received,
        packets_sent,
        sent,
        received,
        packets_sent,
        packets_received,
    )
