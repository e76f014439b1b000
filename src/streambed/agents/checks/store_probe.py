"""Store probe agent: reads a store again and again, and notes the rows of each batch."""

from __future__ import annotations

import time
from typing import NamedTuple

from streambed.agents.agent import Agent, read_order
from streambed.errors import StreambedError
from streambed.record import now_ns
from streambed.record.ledger.schemas import PROBED
from streambed.record.orders import StoreProbeOrder
from streambed.record.tables import Table
from streambed.stores.store import Store, connect


class Found(NamedTuple):
    """The end of a row of the table: a batch and its rows, or why nothing was read."""

    batch: str | None
    rows: int
    error: str | None


class Probe:
    """One store, and the table of what was read."""

    def __init__(self, order: StoreProbeOrder, table: Table) -> None:
        self._order = order
        self._table = table
        self._store: Store | None = None

    def read(self) -> None:
        """Run the query once, and note the rows or the error."""
        asked = now_ns()
        try:
            if self._store is None:
                self._store = connect(self._order.store, read_only=True)
            rows = self._store.ask(self._order.text).rows
            noted = [Found(str(row[0]), int(row[1]), None) for row in rows if len(row) > 1]
        except (StreambedError, TypeError, ValueError) as error:
            self._store = None
            noted = [Found(None, 0, str(error))]
        answered = now_ns()
        name = self._order.name
        for row in noted or [Found(None, 0, None)]:
            self._table.append(name, asked, answered, *row)
        self._table.flush_if_due()


def main(order: StoreProbeOrder) -> None:
    """Read until the run stops it."""
    agent = Agent()
    with agent.table("probed", PROBED, of=order.name) as table:
        probe = Probe(order, table)
        due = now_ns()
        while not agent.stopping:
            probe.read()
            due = max(due + order.every_ns, now_ns())
            time.sleep(max(0, due - now_ns()) / 1e9)


if __name__ == "__main__":
    main(read_order(StoreProbeOrder))
