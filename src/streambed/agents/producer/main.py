"""Producer agent: sends every record when it is due, whether or not earlier ones were acknowledged.

One process may hold many producers, each with its own client in the network of its host.
"""

from __future__ import annotations

import gc
import heapq
import os
import time
from functools import partial

from streambed.agents import host_network
from streambed.agents.agent import Agent, import_factory, read_order
from streambed.agents.producer.record_source import Source, source_of
from streambed.agents.producer.schedule import NEVER, PendingRecords, Schedule, schedule_of
from streambed.agents.producer.sender import Sender, SenderFactory, SenderSetup
from streambed.agents.producer.sent_rows import SentRows
from streambed.agents.producer.timetable import Due
from streambed.record import now_ns
from streambed.record.gates import LoadBegins, ServersReady
from streambed.record.gauges import ProducerGauge
from streambed.record.ledger.schemas import LIVES, SENT, TRANSACTIONS
from streambed.record.orders import ProducerOrder

POLL_S_MAX = 0.05
POLL_S_OF_MANY = 0.005
"""We can wait for only one of many clients; the others are polled this often."""
CLIENT_WAITS_NS = 1_000_000
"""A client waits for whole milliseconds; for shorter waits we sleep instead of spinning."""
RECORDS_BETWEEN_POLLS = 500


class Sending:
    """All senders of this process."""

    def __init__(self, agent: Agent, senders: list[Sender], rows: SentRows | None) -> None:
        self.agent = agent
        self.senders = senders
        self.rows = rows
        self._wait_s_max = POLL_S_MAX if len(senders) == 1 else POLL_S_OF_MANY

    def heed(self, load: LoadBegins) -> None:
        """Report and wait as the faults of the run need it."""
        self.agent.sync_points = load.sync_points
        if load.report_ns:
            self.agent.report_every_ns = load.report_ns
            self._wait_s_max = min(self._wait_s_max, load.report_ns / 1e9)

    def follow(self, schedules: list[Schedule]) -> None:
        """Send each record when it is due."""
        pending = self._pending(schedules)
        turns = [(records.next_due(), number) for number, records in enumerate(pending)]
        heapq.heapify(turns)
        unpolled = 0
        while turns[0][0] < NEVER:
            due_ns, number = turns[0]
            self._wait_until(due_ns)
            if self.agent.stopping:
                return
            due = pending[number].take(now_ns(), most=RECORDS_BETWEEN_POLLS)
            self._hand_over(self.senders[number], due)
            heapq.heapreplace(turns, (pending[number].next_due(), number))
            unpolled += len(due.times)
            if unpolled >= RECORDS_BETWEEN_POLLS:
                self.poll(0)
                unpolled = 0
        for sender in self.senders:
            sender.settle()

    def _pending(self, schedules: list[Schedule]) -> list[PendingRecords]:
        """The records that this process is to send, for each schedule."""
        firsts = [schedule.first(self.agent.incarnation) for schedule in schedules]
        if self.rows:
            self._note_life(firsts)
        pending = []
        for schedule, first in zip(schedules, firsts, strict=True):
            pending.append(PendingRecords(schedule.from_number(first)))
        return pending

    def _note_life(self, firsts: list[int]) -> None:
        """Write down what this process may send, before it does: it may be killed."""
        began_ns = now_ns()
        with self.agent.table("lives", LIVES) as table:
            for sender, first in zip(self.senders, firsts, strict=True):
                table.append(sender.name, self.agent.incarnation, began_ns, first)

    def _hand_over(self, sender: Sender, due: Due) -> None:
        """Send all due records; a full buffer delays them, but their due times stay."""
        done = taken = sender.send_all(due)
        while taken < len(due.times) and not self.agent.stopping:
            self.poll(0 if done else POLL_S_MAX)
            done = sender.send_all(due.between(taken))
            taken += done

    def _wait_until(self, due_ns: int) -> None:
        while (wait_ns := due_ns - now_ns()) > 0 and not self.agent.stopping:
            self.poll(wait_ns / 1e9)
            if wait_ns < CLIENT_WAITS_NS:
                time.sleep(max(0, due_ns - now_ns()) / 1e9)

    def poll(self, wait_s: float) -> None:
        """Serve delivery reports, the ledger and the gauge."""
        first, *others = self.senders
        first.poll(max(0.0, min(wait_s, self._wait_s_max)))
        for sender in others:
            sender.poll(0)
        if self.rows:
            self.rows.flush_if_due()
        if self.agent.report_is_due():
            self.report()

    def report(self, done: bool = False) -> None:
        """Write the gauge."""
        self.agent.report(
            ProducerGauge(
                ready=True,
                done=done,
                sent=sum(sender.sent for sender in self.senders),
                acked=sum(sender.acked for sender in self.senders),
                failed=sum(sender.failed for sender in self.senders),
                open=sum(sender.open for sender in self.senders),
            )
        )

    def finish(self) -> None:
        """Wait until every record is decided; once stopped, note the rest as undecided."""
        while any(sender.open for sender in self.senders) and not self.agent.stopping:
            self.poll(POLL_S_MAX)
        self.give_up()
        self.report(done=True)

    def give_up(self) -> None:
        """Note what is undecided, and close the ledger."""
        for sender in self.senders:
            if sender.open:
                sender.give_up()
        if self.rows:
            self.rows.close()


def senders_of(
    agent: Agent, order: ProducerOrder, sources: list[Source], rows: SentRows | None
) -> list[Sender]:
    """Make every producer in the network of its host: its client's threads stay there."""
    make: SenderFactory = import_factory(order.sender)
    senders: list[Sender] = []
    for member, source in zip(order.members, sources, strict=True):
        setup = SenderSetup(
            agent=agent,
            name=member.name,
            source=source,
            client=order.client,
            rows=rows,
            transaction=order.transaction,
        )
        senders.append(host_network.call_in(member.host, partial(make, setup)))
    for sender in senders:
        sender.prepare()
    return senders


def schedules_of(order: ProducerOrder, sources: list[Source], start_ns: int) -> list[Schedule]:
    """The schedule of every producer."""
    seed = os.environ["STREAMBED_SEED"]
    return [
        schedule_of(order.schedule, member, held=source.held, start_ns=start_ns, seed=seed)
        for member, source in zip(order.members, sources, strict=True)
    ]


def rows_of(agent: Agent, order: ProducerOrder) -> SentRows:
    """The ledger of all producers of this process."""
    transactions = agent.table("transactions", TRANSACTIONS) if order.transaction else None
    sent = agent.table("sent", SENT)
    return SentRows(sent, life=agent.incarnation, transactions=transactions)


def main(order: ProducerOrder) -> None:
    """Wait for the load to begin, send, wait for acknowledgements."""
    # Records in flight are many and form no cycles: collecting them would take half of the time.
    gc.disable()
    agent = Agent()
    sources = [source_of(order.records, member) for member in order.members]
    agent.wait_for(ServersReady)
    rows = None
    if order.ledger:
        rows = rows_of(agent, order)
    sending = Sending(agent, senders_of(agent, order, sources, rows), rows)
    sending.report()
    load = agent.wait_for(LoadBegins)
    if load:
        sending.heed(load)
    start_ns = (load.start_ns if load else 0) + order.schedule.after_ns
    try:
        sending.follow(schedules_of(order, sources, start_ns))
    except SystemExit:
        sending.give_up()  # What was taken before has its rows.
        raise
    sending.finish()


if __name__ == "__main__":
    main(read_order(ProducerOrder))
