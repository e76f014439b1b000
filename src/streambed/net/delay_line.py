"""Control of the delay line's process: start it, change its queues, read its gauges, end it."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from streambed import record
from streambed.errors import MachineError
from streambed.net import realtime
from streambed.record.gauges import DelayLineGauge, read_delay_line_gauges

PROGRAM = Path(__file__).parents[1] / "agents" / "delay_line"
NAME = "delay_line"
END_LIMIT_S = 2.0
ANSWER_LIMIT_S = 5.0


class DelayLine:
    """The process that delays the packets of all links."""

    def __init__(self, process: subprocess.Popen[bytes], gauge: Path, log: Path) -> None:
        self.process = process
        self.scheduled = ""
        """How the kernel lets it run, once it is ready: "in real time", "with short slices" or "as
        any process".
        """
        self._gauge = gauge
        self._log = log

    def wait_until_ready(self) -> None:
        """Wait until every queue is being read; until then links are dead."""
        assert self.process.stdout
        answer, _, self.scheduled = self.process.stdout.readline().decode().strip().partition(" ")
        if answer != "ready":
            last_lines = self._log.read_text().strip().splitlines()[-3:]
            reason = " / ".join(last_lines) or "it said nothing"
            raise MachineError(f"the delay line did not start: {reason} (see {self._log})")

    def tell(self, queue: dict[str, Any]) -> None:
        """Change what a queue does to packets; returns when the change holds."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(json.dumps(queue).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise MachineError(
                f"the delay line has died, so all its links are dead (see {self._log})"
            ) from error
        answers, _, _ = select.select([self.process.stdout], [], [], ANSWER_LIMIT_S)
        if not answers or self.process.stdout.readline() != b"done\n":
            raise MachineError(
                f"the delay line did not confirm its orders within {ANSWER_LIMIT_S:g} s "
                f"(see {self._log})"
            )

    def gauges(self) -> tuple[DelayLineGauge, ...]:
        """Its last gauges, the newest last."""
        return read_delay_line_gauges(self._gauge)

    def end(self) -> None:
        """End it by closing its input; kill it if that does not help."""
        assert self.process.stdin and self.process.stdout
        with suppress(BrokenPipeError):  # It has ended already: unsent orders are useless.
            self.process.stdin.close()
        try:
            self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@contextmanager
def delay_line(queues: list[dict[str, Any]], *, seed: int, directory: Path) -> Iterator[DelayLine]:
    """Start the process for these queues (see shaping.delay_line_queues); it ends with the block.
    It is not ready yet: wait for it.

    It is run as a folder by an isolated Python: it needs the standard library alone, and starts in
    half the time. Where real time was kept for it (see realtime.keep), it is started in that.
    """
    gauge, log, declared = (
        directory / "gauges" / f"{NAME}.json",
        directory / "logs" / f"{NAME}.log",
        directory / f"{NAME}.json",
    )
    for folder in (gauge.parent, log.parent):
        folder.mkdir(parents=True, exist_ok=True)
    record.write_whole(declared, json.dumps({"gauge": str(gauge), "seed": seed, "queues": queues}))
    descriptors = sorted(
        {
            int(queue[key])
            for queue in queues
            for key in ("namespace", "sender_namespace")
            if key in queue
        }
    )
    argv = [sys.executable, "-I", "-S", str(PROGRAM), str(declared)]
    with log.open("wb") as errors:

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                pass_fds=descriptors,
            )

        process = realtime.call(start)
    line = DelayLine(process, gauge, log)
    try:
        yield line
    finally:
        line.end()
