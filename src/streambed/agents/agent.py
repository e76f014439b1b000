"""What all agents share: their name and run, gates, gauges, the signal to stop."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from streambed.record import codec, file_name, now_ns
from streambed.record.gates import SYNC_LIMIT_S, Gate, Stop, path_of
from streambed.record.gauges import Gauge, write_gauge

if TYPE_CHECKING:
    import pyarrow as pa

    from streambed.record.tables import Table

REPORT_NS = 500_000_000
Order = TypeVar("Order")
OpenGate = TypeVar("OpenGate", bound=Gate)


def read_order(kind: type[Order]) -> Order:
    """The order in the file that the command line names."""
    return codec.read_message(Path(sys.argv[1]), kind)


def import_factory(text: str) -> Any:
    """Import `module:name`, the factory of a broker's senders or readers."""
    module, _, name = text.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SystemExit(f"the client {text} cannot be imported: {error}") from error


class Agent:
    """One small program on one host of a run."""

    def __init__(self) -> None:
        self.run = Path(os.environ["STREAMBED_RUN"])
        self.name = os.environ["STREAMBED_PROCESS"]
        self.incarnation = int(os.environ.get("STREAMBED_INCARNATION", "1"))
        self.stopping = False
        self.report_every_ns = REPORT_NS
        self.sync_points: dict[str, tuple[int, ...]] = {}
        """The producers that wait at a commit, once from each of these times."""
        self._reported_ns = 0
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def table(self, kind: str, schema: pa.Schema, *, of: str = "") -> Table:
        """Open a file of the ledger, for this agent or for the member `of`.

        A restarted agent opens a new one.
        """
        # Arrow is slow to load: an agent without a ledger does without it.
        from streambed.record.tables import Table

        owner = file_name(of) or self.name
        return Table(self.run / "history" / f"{kind}-{owner}-{self.incarnation}.arrow", schema)

    def wait_for(self, gate: type[OpenGate]) -> OpenGate | None:
        """Wait until the conductor opens a gate and return its content; None if stopped first."""
        path = path_of(self.run, gate)
        while not path.exists():
            if self.stopping:
                return None
            time.sleep(0.005)
        return codec.read_message(path, gate)

    def report(self, gauge: Gauge) -> None:
        """Write the gauge now."""
        self._reported_ns = now_ns()
        write_gauge(self.run / "gauges" / f"{self.name}.json", gauge)

    def report_is_due(self) -> bool:
        """Whether it is time for the next report."""
        return now_ns() - self._reported_ns >= self.report_every_ns

    def sync(self, producer: str, point: str) -> None:
        """Announce that a producer has reached a point, and wait until it may continue, if a fault
        is triggered there.

        It waits once for each fault, even if the producer was restarted meanwhile.
        """
        for number, from_ns in enumerate(self.sync_points.get(producer, ())):
            stop = Stop(self.run, producer, point, number)
            if now_ns() >= from_ns and not stop.used:
                self._wait_at(stop)
                return

    def _wait_at(self, stop: Stop) -> None:
        stop.arrive()
        end_ns = now_ns() + round(SYNC_LIMIT_S * 1e9)
        while not stop.done and not self.stopping and now_ns() < end_ns:
            time.sleep(0.001)
        stop.withdraw()
