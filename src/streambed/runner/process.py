"""A process of a run: started on its host in a new session, with its output in a log file."""

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
PRIORITY_LIMIT_S = 5.0


class LiveProcess:
    """A ProcessSpec that runs. After it was killed it can be started again with its files."""

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
        self._argv = caps.join_groups(spec.groups, spec.argv)
        self.memory_kills = 0
        """How many of its processes the kernel killed for memory before it ended last."""
        self._killed_before = 0
        self._popen: subprocess.Popen[bytes] | None = None
        self._end_expected = False
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
        """Its process and session id inside the box; 0 if it does not run."""
        return self._popen.pid if self._popen else 0

    def start(self) -> None:
        """Start or restart it. Its planned files are written only the first time."""
        home = self._directory / "data" / self.spec.component
        home.mkdir(parents=True, exist_ok=True)
        if not self.incarnation:
            for file in self.spec.files:
                _write_file(file)
        self.incarnation += 1
        self._pauses = 0
        self._popen = self._host.call(
            lambda: _start_on_cores(self.spec.allowance.cores, lambda: self._begin(home))
        )
        if self.spec.allowance.priority and not self.spec.groups:
            _lower_session_priority(self.pid, self.spec.allowance.priority)
        self._end_expected = False
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
        """Called in the host's thread."""
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
        """Kill it; healing restarts it. If two faults overlap, the last heal does."""
        self._strikes += 1
        self.kill()

        def heal() -> None:
            self._strikes -= 1
            if not self._strikes:
                self.start()

        return heal

    def pause(self) -> Heal:
        """Pause all of its session; healing continues it. If faults overlap, the last heal does.

        If it was restarted meanwhile, healing has no effect.
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
        """Kill it and its children, and wait for its end."""
        self.kill_now()
        self.reap()

    def kill_now(self) -> None:
        """Kill it and its children without waiting for their end."""
        self._end_expected = True
        if self.alive:
            self._signal_session(signal.SIGKILL)

    def stop(self) -> None:
        """Send SIGTERM to its process group."""
        self._end_expected = True
        if self.alive:
            self._signal_group(signal.SIGTERM)

    def _signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # It may have ended by itself just now.
            os.killpg(self.pid, number)

    def _signal_session(self, number: int) -> None:
        """Signal the process group at once, then the session: Spark's workers make new groups."""
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
        """Its exit status if it ended unexpectedly since the last call, else None.

        Records the end.
        """
        if self._popen is None or self._popen.poll() is None:
            return None
        status = self._popen.returncode
        expected = self._end_expected or status == 0
        self._popen = None
        killed = caps.memory_kills(self.spec.groups)
        self.memory_kills, self._killed_before = killed - self._killed_before, killed
        # A command that runs after the drain may print a verdict.
        keep_output = not expected or self.spec.starts == "drain"
        lines = self.last_lines() if keep_output else []
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


def _start_on_cores(
    cores: tuple[int, ...], begin: Callable[[], subprocess.Popen[bytes]]
) -> subprocess.Popen[bytes]:
    """Start a process on these cores: it inherits them from the thread that starts it."""
    if not cores:
        return begin()
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        return begin()
    finally:
        os.sched_setaffinity(0, before)


def _lower_session_priority(session: int, priority: int) -> None:
    """Set the priority of a session: with autogroups, `nice` only counts within a session."""
    file = Path(f"/proc/{session}/autogroup")

    def write_priority() -> bool:
        try:
            file.write_text(str(priority))
        except BlockingIOError:
            return False  # The kernel allows ten changes a second.
        except OSError:
            pass  # It has ended already, or the kernel has no autogroups.
        return True

    wait_until(write_priority, limit_s=PRIORITY_LIMIT_S)


def session_members(session: int) -> list[int]:
    """The pids of all processes of a session."""
    members = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(int(entry)) == session:
                members.append(int(entry))
    return members


def _write_file(file: PlannedFile) -> None:
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
