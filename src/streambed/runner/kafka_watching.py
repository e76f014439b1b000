"""Watching Kafka: once a second every broker is asked, in a thread of its own, because one that is paused takes its time to answer."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from streambed.kinds.components import Kafka
from streambed.record import now_ns
from streambed.runner.cast import Cast
from streambed.runner.live_world import LiveWorld
from streambed.tables import SAMPLES, Table

EVERY_S = 1.0


class Watcher:
    """Looks at every cluster until told to stop."""

    def __init__(self, world: LiveWorld, clusters: list[Kafka], table: Table) -> None:
        self._world = world
        self._clusters = clusters
        self._table = table
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kafka watcher")

    def _run(self) -> None:
        try:
            while not self._stop.wait(EVERY_S):
                for cluster in self._clusters:
                    self._look(cluster)
                self._table.flush()
        except Exception as error:  # Whatever it is, a run that is no longer watched must not go on as if it were.
            self._world.troubles.append(error)

    def _look(self, cluster: Kafka) -> None:
        changes, samples = cluster.look(self._world)
        for event, fields in changes:
            self._world.record(event, **fields)
        time_ns = now_ns()
        for metric, of, value in samples:
            self._table.append(time_ns, metric, of, value)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def finish(self) -> None:
        """End after the present look."""
        self._stop.set()
        self._thread.join()


@contextlib.contextmanager
def watching(world: LiveWorld, cast: Cast) -> Iterator[None]:
    """Watch the clusters while the block lasts: they are ready when it begins."""
    clusters = [component for component in cast.components if isinstance(component, Kafka) and component.topics]
    with Table(world.directory / "history" / "samples-kafka.arrow", SAMPLES) as table:
        watcher = Watcher(world, clusters, table)
        watcher.start()
        try:
            yield
        finally:
            watcher.finish()
