"""Elections of leaders on demand, in Kafka's own protocol: each broker is asked in its own host."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable

from streambed.errors import WorldError
from streambed.kinds.components.kafka import protocol
from streambed.kinds.components.kafka.protocol import Led
from streambed.kinds.components.roles import Role
from streambed.record import wait_until

ANSWER_LIMIT_S = 10.0
KNOWN_LIMIT_S = 0.5
"""How long brokers may take to learn of the new leader."""
NO_ANSWER = -(2**15)
"""No error code of Kafka."""


def hold_election(
    connections: Iterable[socket.socket],
    role: Role,
    leader: Callable[[], Led | None],
    *,
    unclean: bool,
) -> None:
    """Hold an election, and wait a moment until brokers name another `leader`.

    Nothing happens if the wanted broker leads already; WorldError if the cluster refuses. The first
    broker that answers passes the request on to the controller.
    """
    from confluent_kafka import KafkaError

    before = leader()
    code = _ask(connections, protocol.election_request(role.of, role.partition, unclean=unclean))
    if code == KafkaError.ELECTION_NOT_NEEDED:
        return
    if code:
        reason = "no broker answers" if code == NO_ANSWER else KafkaError(code).str()
        raise WorldError(f"no election for {role.of}/{role.partition}: {reason}")
    wait_until(lambda: leader() != before, limit_s=KNOWN_LIMIT_S)


def _ask(connections: Iterable[socket.socket], request: bytes) -> int:
    """The error code of the first broker that answers."""
    for connection in connections:
        for answer in protocol.answers([connection], request, ANSWER_LIMIT_S):
            return protocol.election_error(answer)
    return NO_ANSWER
