"""Follow the batch logs of jobs, and ask where their output topics end when a batch is committed.

  commits/6           offsets/7           commits/7
──────●─── ends ───────────●──────────────────●─── ends ──▶
           exact: every output of batch 7 lies after them
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from streambed.kinds.components.broker import broker_of
from streambed.kinds.components.engine import Engine, engines_among
from streambed.record.events import BatchCommitted, BatchPlanned
from streambed.record.events.of_batches import BatchStep, NextOffsets
from streambed.runner.live_world import LiveWorld

EVERY_S = 0.02


class BatchWatcher:
    """Follows one job until `finish` is called, in a thread: a broker may answer late."""

    def __init__(self, world: LiveWorld, engine: Engine) -> None:
        self._world = world
        self._engine = engine
        self._broker = broker_of(engine.writes, world.components)
        self._new: deque[BatchStep] = deque()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"batches of {engine.name}")

    def _run(self) -> None:
        try:
            while not self._stop.wait(EVERY_S):
                self.look()
        except Exception as error:  # A run must not continue unwatched.
            self._world.troubles.append(error)

    def look(self) -> None:
        """Record what the job wrote since the last look."""
        self._new.extend(self._engine.batch_steps(self._world))
        while self._new:
            step = self._new.popleft()
            if isinstance(step, BatchCommitted):
                step = self._with_ends(step)
            self._world.record(step)

    def _with_ends(self, commit: BatchCommitted) -> BatchCommitted:
        ends = self._ends()
        self._new.extend(self._engine.batch_steps(self._world))  # Steps since the last look.
        exact = not any(
            isinstance(step, BatchPlanned) and step.query_id == commit.query_id
            for step in self._new
        )
        return replace(commit, ends=ends, exact=exact)

    def _ends(self) -> NextOffsets:
        positions = self._broker.end_positions(self._world) if self._broker else None
        ends: NextOffsets = {}
        for topic in self._engine.writes:
            for partition, end in (positions or {}).get(topic, {}).items():
                if end is not None:
                    ends.setdefault(topic, {})[partition] = end
        return ends

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def finish(self) -> None:
        """End the thread after the present look."""
        self._stop.set()
        self._thread.join()


@contextlib.contextmanager
def watch_batches(world: LiveWorld) -> Iterator[None]:
    """Follow the batches of all jobs during the block."""
    watchers = [BatchWatcher(world, engine) for engine in engines_among(world.components).values()]
    for watcher in watchers:
        watcher.start()
    try:
        yield
    finally:
        for watcher in watchers:
            watcher.finish()
    for watcher in watchers:  # Not after an interruption: a broker may answer late.
        watcher.look()
