"""Consumer agent: notes when it saw each record. Without a group it is the witness, which reads all
there is once.

One process may hold many consumers, each with a client of its own in the network of its own host.
"""

from __future__ import annotations

from collections.abc import Sequence

from streambed.agents import host_network
from streambed.agents.agent import Agent, import_factory, read_order
from streambed.agents.reading import Reading
from streambed.record.gates import ServersReady
from streambed.record.gauges import Positions, ReaderGauge
from streambed.record.orders import ConsumerOrder

POLL_S = 0.1
POLL_S_OF_MANY = 0.005
"""Of many clients only one can be waited for: what came for the others is looked for so often."""


def report(agent: Agent, readings: Sequence[Reading], done: bool = False) -> None:
    """The gauge of all of them together."""
    gauges = [reading.gauge() for reading in readings]
    agent.report(
        ReaderGauge(
            ready=all(gauge.ready for gauge in gauges),
            done=done,
            seen=sum(gauge.seen for gauge in gauges),
            lag=sum(gauge.lag for gauge in gauges),
            lag_s=max(gauge.lag_s for gauge in gauges),
            positions=slowest([gauge.positions for gauge in gauges]),
        )
    )


def slowest(each: Sequence[Positions]) -> Positions:
    """Where several read one partition, what the slowest of them has read."""
    together: Positions = {}
    for positions in each:
        for topic, offsets in positions.items():
            known = together.setdefault(topic, {})
            for partition, offset in offsets.items():
                known[partition] = min(offset, known.get(partition, offset))
    return together


def tend(agent: Agent, readings: Sequence[Reading]) -> None:
    """Serve the ledger and the gauge."""
    for reading in readings:
        reading.flush_if_due()
    if agent.report_is_due():
        report(agent, readings)


def follow(agent: Agent, readings: Sequence[Reading], wait_s: float = POLL_S) -> None:
    """Members of a group: read until told to stop."""
    for reading in readings:
        reading.reader.join()
    first, *others = readings
    while not agent.stopping:
        for reading in others:
            reading.take(0)
        first.take(min(wait_s, POLL_S_OF_MANY) if others else wait_s)
        tend(agent, readings)
    finish(agent, readings)


def read_once(agent: Agent, reading: Reading) -> None:
    """The witness: read what there is now, to its end."""
    reading.reader.join()
    while not reading.reader.ended and not agent.stopping:
        reading.take(POLL_S)
        tend(agent, [reading])
    finish(agent, [reading])


def finish(agent: Agent, readings: Sequence[Reading]) -> None:
    """Keep what was noted and leave the group."""
    for reading in readings:
        reading.finish()
    report(agent, readings, done=True)
    for reading in readings:
        reading.reader.leave()


def readings_of(agent: Agent, order: ConsumerOrder) -> list[Reading]:
    """Every consumer with its client, made in the network of its host: the client's own threads
    stay there.
    """
    make = import_factory(order.reader)
    readings = []
    for member in order.members:
        if member.host:
            host_network.enter(member.host)
        readings.append(Reading(agent, member, order, make, ledger=order.ledger, keep=order.keep))
    return readings


def main(order: ConsumerOrder) -> None:
    """Read until told to stop."""
    agent = Agent()
    agent.wait_for(ServersReady)
    readings = readings_of(agent, order)
    if order.members[0].group:
        follow(agent, readings)
    else:
        read_once(agent, readings[0])


if __name__ == "__main__":
    main(read_order(ConsumerOrder))
