"""What agents share: where they are, when they may go on, what they report, when they must stop."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambed.record import now_ns, read_json, write_whole

if TYPE_CHECKING:
    import pyarrow as pa

    from streambed.tables import Table

REPORT_NS = 500_000_000


class Agent:
    """One small program on one host of a run."""

    def __init__(self) -> None:
        self.run = Path(os.environ["STREAMBED_RUN"])
        self.name = os.environ["STREAMBED_PROCESS"]
        self.incarnation = int(os.environ.get("STREAMBED_INCARNATION", "1"))
        self.stopping = False
        self._reported_ns = 0
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def table(self, kind: str, schema: pa.Schema, *, of: str = "") -> Table:
        """A file of the ledger, of this agent or of one that it holds; a restarted agent begins another."""
        from streambed.tables import Table  # Arrow takes a while to load: an agent without a ledger does not wait for it.

        return Table(self.run / "history" / f"{kind}-{of.replace('/', '.') or self.name}-{self.incarnation}.arrow", schema)

    def gate(self, name: str) -> dict[str, Any]:
        """Wait until the conductor opens a gate; what it wrote there. Empty if told to stop first."""
        path = self.run / "gates" / name
        while not path.exists() and not self.stopping:
            time.sleep(0.005)
        return read_json(path)

    def report(self, **gauge: object) -> None:
        """Write the gauge now."""
        self._reported_ns = now_ns()
        write_whole(self.run / "gauges" / f"{self.name}.json", json.dumps(gauge))

    def report_is_due(self) -> bool:
        """Whether the gauge is old."""
        return now_ns() - self._reported_ns >= REPORT_NS
