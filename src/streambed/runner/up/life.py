"""Start servers in a separate process that ends with this one, and end them.

    this process ──pipe──▶ box (outside: the machine's network) ──▶ process 1 ──▶ conductor.serve

The box ends everything when the pipe closes, and then removes a temporary folder itself.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from streambed import artifacts, plan
from streambed.errors import ProcessError, UsageError
from streambed.kinds.tables import needs_of
from streambed.planner.planner import plan_servers
from streambed.record import FOLDERS, TEMPORARY, read_json, wait_until, write_whole
from streambed.record.event_log import read_events
from streambed.record.events import Ready
from streambed.record.status import begin, state_of
from streambed.runner.launcher import examine
from streambed.runner.up.choice import Choice, choose
from streambed.runner.up.servers import Server, Servers, server_of

LOOK_S = 0.1
END_S = 15.0
SET_UP = "set-up.json"
"""In a kept folder: the servers that have been ready once, so that their `setup` has run."""
LASTING = ("data", "logs")

OnReady = Callable[[str, float], None]
"""Called with the name of a server that is ready, and after how many seconds."""


class Box:
    """The process that holds the servers."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with (directory / "logs" / "box.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "streambed.runner.box",
                    str(directory / "plan.json"),
                    "outside",
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        begin(directory, self._process.pid)

    def refuse_dead(self) -> None:
        """Raise ProcessError, with the last lines of its log, if a server has died."""
        if self._process.poll() is not None:
            _, reason = state_of(self._directory)
            raise ProcessError(reason or "the servers ended without a message")

    def await_ready(self, names: Sequence[str], on_ready: OnReady) -> None:
        """Wait until every server has answered its protocol. The box itself has a limit."""
        waited = set(names)

        def all_ready() -> bool:
            self.refuse_dead()
            for event in read_events(self._directory):
                if isinstance(event, Ready) and event.component in waited:
                    waited.remove(event.component)
                    on_ready(event.component, event.seconds)
            return not waited

        while not wait_until(all_ready, limit_s=3600, step_s=LOOK_S):
            pass

    def end(self) -> None:
        """Stop the servers; kill them if they do not stop, or at a second Ctrl-C."""
        assert self._process.stdin
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(END_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            self._process.stdin.close()  # The box kills its processes and waits for their end.
            self._process.wait(END_S)
        self._process.stdin.close()


@contextmanager
def running(
    what: Sequence[str],
    *,
    ports: Mapping[str, int],
    topics: Mapping[str, int],
    keep: Path | None,
    on_start: Callable[[Sequence[str]], None] = lambda notes: None,
    on_ready: OnReady = lambda name, seconds: None,
) -> Iterator[tuple[Servers, Box]]:
    """Run servers during the block. `on_start` gets notes for people as soon as all is decided."""
    done = _set_up(keep) if keep else ()
    chosen = choose(what, ports=ports, topics=topics, has_data=done)
    components = chosen.experiment.components
    for need in needs_of(component.kind for component in components.values()):
        artifacts.demand(need)
    on_start(chosen.notes)
    with _folder(keep) as directory:
        _write_plan(chosen, directory)
        box = Box(directory)
        try:
            box.await_ready(list(components), on_ready)
            if keep:
                write_whole(directory / SET_UP, json.dumps({"ready": sorted({*done, *components})}))
            yield _servers(chosen, directory), box
        finally:
            box.end()


def _write_plan(chosen: Choice, directory: Path) -> None:
    decided = plan_servers(chosen.experiment, examine(), base=chosen.base, directory=directory)
    plan.write(decided, directory / "plan.json")


def _servers(chosen: Choice, directory: Path) -> Servers:
    servers: dict[str, Server] = {}
    for name, component in chosen.experiment.components.items():
        servers[name] = server_of(component, directory / "data" / name)
    return Servers(by_name=servers, directory=directory, notes=chosen.notes)


def _set_up(keep: Path) -> tuple[str, ...]:
    """The servers whose data a kept folder holds. UsageError if it is not such a folder."""
    if not keep.exists():
        return ()
    if not keep.is_dir() or (any(keep.iterdir()) and not (keep / "plan.json").exists()):
        raise UsageError(f"--keep {keep}: other files are there. Name a new or empty folder")
    if (keep / "plan.json").exists() and not plan.read(keep / "plan.json").serves:
        raise UsageError(f"--keep {keep}: it holds a run. Name a new or empty folder")
    if state_of(keep)[0] == "running":
        raise UsageError(f"--keep {keep}: its servers run already. End them first")
    return tuple(read_json(keep / SET_UP).get("ready", ()))


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """The folder of the servers; without `keep` it is removed after the block."""
    if keep is None:
        # Below the cache: /tmp is memory on many machines, and data may be large.
        directory = Path(tempfile.mkdtemp(prefix="servers-", dir=artifacts.make_cache("up")))
        (directory / TEMPORARY).touch()
    else:
        directory = keep.absolute()
        directory.mkdir(parents=True, exist_ok=True)
    try:
        for name in FOLDERS:
            if name not in LASTING:
                shutil.rmtree(directory / name, ignore_errors=True)
            (directory / name).mkdir(exist_ok=True)
        yield directory
    finally:
        if keep is None:
            shutil.rmtree(directory, ignore_errors=True)
