"""Which connections are open, from which address, and which have not yet sent a valid record.

A connection is a newcomer until its first valid record. Newcomers are all that an attacker without
a token can hold, so they make room for others: if there are too many connections, a new one takes
the place of the oldest newcomer, and is refused only if there is none. An honest client sends its
record at once, so it gets in while an attacker holds connections.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from ipaddress import IPv6Address, IPv6Network
from typing import Generic, TypeVar

Connection = TypeVar("Connection", bound=Hashable)
IPV6_PREFIX = 64
"""One customer usually has a whole /64, so its addresses count as one."""


@dataclass(frozen=True)
class Opening(Generic[Connection]):
    """What becomes of a new connection."""

    admitted: bool
    evicted: Connection | None = None
    """The newcomer that must be closed in its favour."""


@dataclass
class _Address(Generic[Connection]):
    connections: int = 0
    newcomers: dict[Connection, None] = field(default_factory=dict)
    """Oldest first."""


class Connections(Generic[Connection]):
    """The table of open connections."""

    def __init__(self, *, total_max: int, per_address_max: int) -> None:
        self._total_max = total_max
        self._per_address_max = per_address_max
        self._address_of: dict[Connection, str] = {}
        self._opened_at: dict[Connection, float] = {}
        self._addresses: dict[str, _Address[Connection]] = {}

    def __len__(self) -> int:
        return len(self._address_of)

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._address_of

    @property
    def newcomers(self) -> int:
        """Connections that have not sent a valid record."""
        return len(self._opened_at)

    def open(self, connection: Connection, address: str, now: float) -> Opening[Connection]:
        """Enter a new connection, if necessary in place of a newcomer."""
        here = self._addresses.get(address)
        evicted: Connection | None = None
        if here and here.connections >= self._per_address_max:
            evicted = next(iter(here.newcomers), None)
            if evicted is None:
                return Opening(admitted=False)
        elif len(self) >= self._total_max:
            evicted = next(iter(self._opened_at), None)
            if evicted is None:
                return Opening(admitted=False)
        if evicted is not None:
            self.close(evicted)
        here = self._addresses.setdefault(address, _Address())
        here.connections += 1
        here.newcomers[connection] = None
        self._address_of[connection] = address
        self._opened_at[connection] = now
        return Opening(admitted=True, evicted=evicted)

    def prove(self, connection: Connection) -> None:
        """A connection has sent a valid record: it is no newcomer any more."""
        if self._opened_at.pop(connection, None) is not None:
            del self._addresses[self._address_of[connection]].newcomers[connection]

    def close(self, connection: Connection) -> None:
        """Forget a connection; one that is not there is ignored."""
        address = self._address_of.pop(connection, None)
        if address is None:
            return
        self._opened_at.pop(connection, None)
        here = self._addresses[address]
        here.connections -= 1
        here.newcomers.pop(connection, None)
        if not here.connections:
            del self._addresses[address]

    def opened_before(self, moment: float) -> Iterator[tuple[Connection, float]]:
        """The newcomers that were opened before this moment, oldest first, with their times."""
        for connection, opened_at in list(self._opened_at.items()):
            if opened_at >= moment:
                return
            yield connection, opened_at


def address_of(host: str) -> str:
    """The address that a peer counts for: an IPv4 address, or the /64 of an IPv6 address."""
    if ":" not in host:
        return host
    address = IPv6Address(host.partition("%")[0])
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address, IPV6_PREFIX), strict=False))
