"""The box: a small process that enters new namespaces, and process 1 inside them.

    launcher ──pipe──▶ box (enters namespaces) ──▶ process 1 (reaps) ──▶ conductor
    conductor ──▶ hosts, delay line, programs

When one of them dies, the others follow at once: the box when the pipe closes, process 1 with the
box, everything in the PID namespace with process 1, process 1 with the conductor.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType

from streambed.net import realtime
from streambed.net.box_entry import enter_namespaces, settle_as_first
from streambed.record import TEMPORARY
from streambed.record.status import BY_USER, conclude, describe_failure
from streambed.runner.cgroups import caps


def main(plan_path: Path, where: str, groups: list[str]) -> int:
    """Run the plan in new namespaces; returns the exit status of the conductor.

    `where` is "inside", or "outside" to keep the machine's own network. Other namespaces are new
    in both cases, so that nothing outlives the run. `groups` are removed at the end.
    """
    directory = plan_path.parent

    def interrupted(number: int, frame: FrameType | None) -> None:
        conclude(directory, *BY_USER)
        os._exit(3)

    # A process that has started nothing yet keeps this handler.
    signal.signal(signal.SIGTERM, interrupted)
    # Real-time priority cannot be claimed once inside. It is for the delay line; others give it up.
    realtime.claim()
    try:
        enter_namespaces(network=where == "inside")
    except Exception as error:
        conclude(directory, "failed", str(error))
        return 3
    first = os.fork()
    if first == 0:
        _as_first(plan_path)
    realtime.give_up()
    reason = _watch(first)
    status = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    caps.remove(groups)
    if reason and (directory / TEMPORARY).exists():
        shutil.rmtree(directory)  # The launcher would have.
        return status
    conclude(
        directory, "broken", reason or f"the conductor ended without a message (status {status})"
    )
    return status


def _watch(first: int) -> str:
    """Wait for process 1 to end; kill it if the launcher dies. Returns why it was killed, or ""."""
    signal.signal(signal.SIGTERM, lambda *_: os.kill(first, signal.SIGTERM))
    ended = os.pidfd_open(first)
    poller = select.poll()
    poller.register(ended, select.POLLIN)
    poller.register(sys.stdin.fileno(), select.POLLIN | select.POLLHUP)
    while True:
        ready = {descriptor for descriptor, _ in poller.poll()}
        if ended in ready:
            return ""
        if not os.read(sys.stdin.fileno(), 1):
            os.kill(first, signal.SIGKILL)
            return "the launcher ended before the run did"


def _as_first(plan_path: Path) -> None:
    """Process 1 reaps orphans and ends with the conductor; then the kernel kills all in the box."""
    settle_as_first()
    conductor = os.fork()
    if conductor == 0:
        _as_conductor(plan_path)
    realtime.give_up()

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(conductor, number)

    signal.signal(signal.SIGTERM, pass_on)
    while True:
        pid, status = os.wait()
        if pid == conductor:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _as_conductor(plan_path: Path) -> None:
    """Imports the conductor only here, so that the box itself stays small."""
    os.setsid()
    realtime.keep()
    status = 3
    try:
        from streambed import plan
        from streambed.runner import conductor, live_world

        try:
            decided = plan.read(plan_path)
            if decided.serves:
                conductor.serve(decided)
            else:
                conductor.conduct(decided)
            conclude(plan_path.parent, "finished", "")
            status = 0
        except live_world.Interrupted:
            conclude(plan_path.parent, *BY_USER)
        except BaseException as error:
            traceback.print_exc()
            describe_failure(plan_path.parent, error)
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
