"""Ask each broker for its state once a second, in a separate thread: a paused one is slow."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from streambed.kinds.components.broker import Broker, brokers_among
from streambed.record import now_ns
from streambed.record.ledger.schemas import SAMPLES
from streambed.record.tables import Table
from streambed.runner.live_world import LiveWorld

EVERY_S = 1.0


class Watcher:
    """Samples every broker until `finish` is called."""

    def __init__(self, world: LiveWorld, brokers: list[Broker], table: Table) -> None:
        self._world = world
        self._brokers = brokers
        self._table = table
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="broker watcher")

    def _run(self) -> None:
        try:
            while not self._stop.wait(EVERY_S):
                for broker in self._brokers:
                    self._look(broker)
                self._table.flush()
        except Exception as error:  # A run must not continue unwatched.
            self._world.troubles.append(error)

    def _look(self, broker: Broker) -> None:
        watched = broker.watch(self._world)
        for event in watched.events:
            self._world.record(event)
        time_ns = now_ns()
        for sample in watched.samples:
            self._table.append(time_ns, sample.metric, sample.of, sample.value)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def finish(self) -> None:
        """End the thread after the present round."""
        self._stop.set()
        self._thread.join()


@contextlib.contextmanager
def watch_brokers(world: LiveWorld) -> Iterator[None]:
    """Watch the brokers during the block; they must be ready when it begins."""
    brokers = [broker for broker in brokers_among(world.components).values() if broker.partitions]
    with Table(world.directory / "history" / "samples-brokers.arrow", SAMPLES) as table:
        watcher = Watcher(world, brokers, table)
        watcher.start()
        try:
            yield
        finally:
            watcher.finish()
