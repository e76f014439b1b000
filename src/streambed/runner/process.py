"""A process of a run: started on its host, in a session of its own, its output in a log of its
own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from streambed.errors import WorldError
from streambed.net.hosts import Host
from streambed.plan import PlannedFile, ProcessSpec
from streambed.record import file_name, wait_until
from streambed.record.events import Event, ProcessEnded, ProcessStarted
from streambed.runner.cgroups import caps
from streambed.world import Heal

LAST_LINES = 12
RESTARTS_MAX = 10
STAND_BACK_S = 5.0


class LiveProcess:
    """The live twin of a ProcessSpec. A killed one can be started again and keeps its files."""

    def __init__(
        self,
        spec: ProcessSpec,
        host: Host,
        directory: Path,
        record: Callable[[Event], None],
        networks: Mapping[str, int] | None = None,
    ) -> None:
        """`networks` are descriptors of the networks that it may enter, by host."""
        self.spec = spec
        self.name = spec.name
        self.incarnation = 0
        self._host = host
        self._directory = directory
        self._record = record
        self._networks = networks or {}
        self._argv = caps.joined(spec.groups, spec.argv)
        self.memory_kills = 0
        """How many of its processes the kernel killed for want of memory in the life that ended
        last.
        """
        self._killed_before = 0
        self._popen: subprocess.Popen[bytes] | None = None
        self._told_to_end = False
        self._strikes = 0
        self._pauses = 0

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return self._directory / "logs" / f"{file_name(self.name)}.log"

    @property
    def alive(self) -> bool:
        """Whether it runs now."""
        return self._popen is not None and self._popen.poll() is None

    @property
    def paused(self) -> bool:
        """Whether a fault has stopped it."""
        return self._pauses > 0

    @property
    def pid(self) -> int:
        """Its number inside the box, which is its session's number too; 0 before the first
        start.
        """
        return self._popen.pid if self._popen else 0

    def start(self) -> None:
        """Start it, or start it again."""
        home = self._directory / "data" / self.spec.component
        home.mkdir(parents=True, exist_ok=True)
        if not self.incarnation:
            for file in self.spec.files:
                _lay_down(file)
        self.incarnation += 1
        self._pauses = 0
        self._popen = self._host.call(
            lambda: _begun_on(self.spec.allowance.cores, lambda: self._begin(home))
        )
        if self.spec.allowance.priority and not self.spec.groups:
            _stand_back(self.pid, self.spec.allowance.priority)
        self._told_to_end = False
        self._record(
            ProcessStarted(
                process=self.name,
                component=self.spec.component,
                node=self.spec.node,
                pid=self.pid,
                incarnation=self.incarnation,
            )
        )

    def _begin(self, home: Path) -> subprocess.Popen[bytes]:
        """Runs in the host's thread."""
        environment = {
            **os.environ,
            "TMPDIR": "/tmp",
            "PYTHONUNBUFFERED": "1",
            "STREAMBED_PROCESS": file_name(self.name),
            "STREAMBED_INCARNATION": str(self.incarnation),
            "STREAMBED_NETWORKS": " ".join(
                f"{host}={descriptor}" for host, descriptor in self._networks.items()
            ),
            **self.spec.env,
        }
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._argv,
                cwd=self.spec.cwd or home,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=tuple(self._networks.values()),
            )

    def strike(self) -> Heal:
        """Kill it; healing starts it again, but if it was struck twice, only the second time."""
        self._strikes += 1
        self.kill()

        def heal() -> None:
            self._strikes -= 1
            if not self._strikes:
                self.start()

        return heal

    def pause(self) -> Heal:
        """Stop all of its session; healing lets it go on, the last one if there are several.
        Another life of it is not stopped.
        """
        if not self.alive:
            raise WorldError(f"{self.name} is not running, so it cannot be paused")
        life = self.incarnation
        self._pauses += 1
        self._signal_session(signal.SIGSTOP)

        def heal() -> None:
            if self.alive and self.incarnation == life:
                self._pauses -= 1
                if not self._pauses:
                    self._signal_session(signal.SIGCONT)

        return heal

    def kill(self) -> None:
        """End it and its children without a word."""
        self.strike_down()
        self.reap()

    def strike_down(self) -> None:
        """Kill it and its children, without waiting until they are gone."""
        self._told_to_end = True
        if self.alive:
            self._signal_session(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self._told_to_end = True
        if self.alive:
            self._signal_group(signal.SIGTERM)

    def _signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # It may have ended by itself just now.
            os.killpg(self.pid, number)

    def _signal_session(self, number: int) -> None:
        """The group at once, then all of the session: some make groups of their own, as Spark's
        workers do.
        """
        self._signal_group(number)
        for member in session_members(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, number)

    def reap(self) -> None:
        """Wait for the end of a process that was killed, and record it."""
        if self._popen:
            self._popen.wait()
            self.ended()

    def ended(self) -> int | None:
        """Its exit status, the first time that it is found to have ended; None otherwise. Records
        the end.
        """
        if self._popen is None or self._popen.poll() is None:
            return None
        status = self._popen.returncode
        expected = self._told_to_end or status == 0
        self._popen = None
        killed = caps.memory_kills(self.spec.groups)
        self.memory_kills, self._killed_before = killed - self._killed_before, killed
        lines = (
            [] if expected and self.spec.starts != "drain" else self.last_lines()
        )  # What is said after the drain may be a judgement.
        self._record(
            ProcessEnded(
                process=self.name,
                component=self.spec.component,
                node=self.spec.node,
                status=status,
                expected=expected,
                memory_kills=self.memory_kills,
                last_lines=tuple(lines),
            )
        )
        return None if expected else status

    def last_lines(self) -> list[str]:
        """The end of its log, for people."""
        with self.log.open(errors="replace") as log:
            return [line.rstrip() for line in deque(log, LAST_LINES)]


def _begun_on(
    cores: tuple[int, ...], begin: Callable[[], subprocess.Popen[bytes]]
) -> subprocess.Popen[bytes]:
    """A process begins on the cores of the thread that begins it."""
    if not cores:
        return begin()
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        return begin()
    finally:
        os.sched_setaffinity(0, before)


def _stand_back(session: int, priority: int) -> None:
    """Where the kernel shares time between sessions first, the priority of a process counts within
    its own session alone.
    """
    file = Path(f"/proc/{session}/autogroup")

    def told() -> bool:
        try:
            file.write_text(str(priority))
        except BlockingIOError:
            return False  # The kernel lets it be changed ten times a second.
        except OSError:
            pass  # It has ended already, or the kernel shares time between all processes alike.
        return True

    wait_until(told, limit_s=STAND_BACK_S)


def session_members(session: int) -> list[int]:
    """The processes of a session, which is named by the number of its first."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(int(entry)) == session:
                found.append(int(entry))
    return found


def _lay_down(file: PlannedFile) -> None:
    path = Path(file.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if Path(file.source or "/dev/null").is_dir():
        shutil.copytree(file.source, path, dirs_exist_ok=True, symlinks=True)
    elif file.source:
        shutil.copyfile(file.source, path)
    else:
        path.write_text(file.text)
    if file.program:
        path.chmod(0o755)
