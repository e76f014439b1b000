"""Consumer agent: records when it saw each record. Without a group it is the witness, which reads
everything once.

One process may hold many consumers, each with its own client in the network of its host.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from streambed.agents import host_network
from streambed.agents.agent import Agent, import_factory, read_order
from streambed.agents.reading import Reading
from streambed.record.gates import ServersReady
from streambed.record.gauges import Positions, ReaderGauge
from streambed.record.orders import ConsumerOrder

POLL_S = 0.1
POLL_S_OF_MANY = 0.005
"""We can wait for only one of many clients; the others are polled this often."""


def report(agent: Agent, readings: Sequence[Reading], done: bool = False) -> None:
    """Write one gauge for all readings together."""
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
    """The positions of several readers, the lowest offset of each partition."""
    merged: Positions = {}
    for positions in each:
        for topic, offsets in positions.items():
            known = merged.setdefault(topic, {})
            for partition, offset in offsets.items():
                known[partition] = min(offset, known.get(partition, offset))
    return merged


def flush_and_report(agent: Agent, readings: Sequence[Reading]) -> None:
    """Flush the ledger and write the gauge, if they are due."""
    for reading in readings:
        reading.flush_if_due()
    if agent.report_is_due():
        report(agent, readings)


def follow(agent: Agent, readings: Sequence[Reading], wait_s: float = POLL_S) -> None:
    """Read as members of a group until stopped."""
    for reading in readings:
        reading.reader.join()
    first, *others = readings
    while not agent.stopping:
        for reading in others:
            reading.take(0)
        first.take(min(wait_s, POLL_S_OF_MANY) if others else wait_s)
        flush_and_report(agent, readings)
    finish(agent, readings)


def read_once(agent: Agent, reading: Reading) -> None:
    """Read as the witness: everything that there is now, once."""
    reading.reader.join()
    while not reading.reader.ended and not agent.stopping:
        reading.take(POLL_S)
        flush_and_report(agent, [reading])
    finish(agent, [reading])


def finish(agent: Agent, readings: Sequence[Reading]) -> None:
    """Flush the ledger and leave the group."""
    for reading in readings:
        reading.finish()
    report(agent, readings, done=True)
    for reading in readings:
        reading.leave()


def readings_of(agent: Agent, order: ConsumerOrder) -> list[Reading]:
    """Make every consumer in the network of its host: its client's threads stay there."""
    make = import_factory(order.reader)
    readings = []
    for member in order.members:
        reading = partial(Reading, agent, member, order, make, ledger=order.ledger, keep=order.keep)
        readings.append(host_network.call_in(member.host, reading))
    return readings


def main(order: ConsumerOrder) -> None:
    """Run the consumers of an order."""
    agent = Agent()
    agent.wait_for(ServersReady)
    readings = readings_of(agent, order)
    if order.members[0].group:
        follow(agent, readings)
    else:
        for reading in readings:
            read_once(agent, reading)


if __name__ == "__main__":
    main(read_order(ConsumerOrder))
