"""A process of a run: started on its host in a new session, with its output in a log file."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from streambed.errors import WorldError
from streambed.net.hosts import Host
from streambed.net.tampering.clocks import SessionClock
from streambed.net.tampering.syncs import Syncs
from streambed.plan import PlannedFile, ProcessSpec
from streambed.record import file_name, wait_until
from streambed.record.events import Event, Note, ProcessEnded, ProcessStarted
from streambed.runner.cgroups import caps
from streambed.runner.process_faults.child_process import ChildProcess, matches
from streambed.runner.process_faults.cpu_share import BY_GROUP, BY_SIGNALS, DutyCycle, cap_group
from streambed.world import Heal

LAST_LINES = 12
RESTARTS_MAX = 10
PRIORITY_LIMIT_S = 5.0
END_LIMIT_S = 30.0
"""How long a process that was asked to end may take."""


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
        self.node = spec.node
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
        self._noting_end = threading.Lock()
        self._end_expected = False
        self._kills = 0
        self._was_killed = False
        self._pauses = 0
        self._tolerances = 0
        self.clock = SessionClock(self._members, lambda: self.paused)
        self._syncs = Syncs(Path(spec.disk), spec.append_only) if spec.reports_syncs else None

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return self._directory / "logs" / f"{file_name(self.name)}.log"

    @property
    def alive(self) -> bool:
        """Whether it runs now."""
        popen = self._popen  # Another thread may record its end at this moment.
        return popen is not None and popen.poll() is None

    @property
    def paused(self) -> bool:
        """Whether a fault has stopped it."""
        return self._pauses > 0

    @property
    def syncs(self) -> Syncs:
        """Its syncs; WorldError if it was not planned that they are reported."""
        if self._syncs is None:
            raise WorldError(f"the syncs of {self.name} are not reported")
        return self._syncs

    @property
    def restarts(self) -> bool:
        """Whether it is started again if it ends unexpectedly now."""
        policy = self.spec.on_exit
        wanted = policy == "restart" or (policy == "auto" and self._was_killed)
        return wanted and self.incarnation <= RESTARTS_MAX

    @property
    def pid(self) -> int:
        """Its process and session id inside the box; 0 if it does not run."""
        popen = self._popen
        return popen.pid if popen else 0

    def start(self) -> None:
        """Start or restart it. Its planned files are written only the first time."""
        home = self._directory / "data" / self.spec.component
        home.mkdir(parents=True, exist_ok=True)
        if not self.incarnation:
            for file in self.spec.files:
                _write_file(file)
            if self._syncs:
                self._syncs.files.begin()
        self.incarnation += 1
        self._pauses = 0
        self._popen = self._host.start(
            lambda: _start_on_cores(self.spec.allowance.cores, lambda: self._begin(home)),
            enters_networks=bool(self._networks),
        )
        if self.spec.allowance.priority and not self.spec.groups:
            _lower_session_priority(self.pid, self.spec.allowance.priority)
        self._end_expected = False
        self.clock.skew_newcomers()
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
        if self._syncs is None:
            return self._open(self._argv, environment, home)
        ours, theirs = socket.socketpair()
        with theirs:
            argv = self._syncs.command(self._argv, theirs.fileno())
            popen = self._open(argv, environment, home, theirs.fileno())
        self._syncs.supervise(ours)
        return popen

    def _open(
        self, argv: Sequence[str], environment: Mapping[str, str], home: Path, *passed: int
    ) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                argv,
                cwd=self.spec.cwd or home,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(*self._networks.values(), *passed),
            )

    def kill(self) -> Heal:
        """Kill it; healing restarts it. If two faults overlap, the last heal does."""
        self._kills += 1
        self._was_killed = True
        self.kill_and_reap()

        def heal() -> None:
            self._kills -= 1
            if not self._kills:
                self.start()

        return heal

    def stop(self) -> Heal:
        """Send SIGTERM; healing starts it again when it has ended, or after END_LIMIT_S anyway."""
        if not self.alive:
            raise WorldError(f"{self.name} is not running, so it cannot be stopped")
        self._kills += 1
        self._was_killed = True
        self.send_sigterm()

        def heal() -> None:
            if not wait_until(lambda: not self.alive, limit_s=END_LIMIT_S):
                says = f"{self.name} did not end within {END_LIMIT_S:g} s of SIGTERM: it was killed"
                self._record(Note(says=says))
            self.kill_and_reap()
            self._kills -= 1
            if not self._kills:
                self.start()

        return heal

    def tolerate_end(self) -> Heal:
        """Let it end without ending the run; the last heal starts it again if it has ended."""
        self._tolerances += 1
        self._was_killed = True  # It may end a little after the heal, too.

        def heal() -> None:
            self._tolerances -= 1
            if not (self.alive or self._kills or self._tolerances):
                self.reap()
                self.start()

        return heal

    def slow(self, share: float) -> tuple[Heal, str]:
        """Let it have a share of the machine's CPU time: by its group if it has one."""
        if not self.alive:
            raise WorldError(f"{self.name} is not running, so it cannot be slowed down")
        if heal := cap_group(self.spec.groups, share, os.cpu_count() or 1):
            return heal, BY_GROUP
        cycle = DutyCycle(share, lambda: session_members(self.pid), lambda: self.paused)
        return cycle.end, BY_SIGNALS

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

    def children(self, words: Sequence[str]) -> list[ChildProcess]:
        """The programs of its session whose command lines hold all of these words."""
        if not self.alive:
            return []
        return [
            ChildProcess(pid, name=f"{self.name} child {pid}", node=self.node, log=self.log)
            for pid in session_members(self.pid)
            if pid != self.pid and matches(pid, words)
        ]

    def kill_and_reap(self) -> None:
        """Kill it and its children, and wait for its end."""
        self.kill_at_once()
        self.reap()

    def kill_at_once(self) -> None:
        """Kill it and its children without waiting for their end."""
        self._end_expected = True
        if self.alive:
            self._signal_session(signal.SIGKILL)

    def send_sigterm(self) -> None:
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

    def _members(self) -> list[int]:
        """The pids of its session; none if it does not run."""
        return session_members(self.pid) if self.pid else []

    def reap(self) -> None:
        """Wait for the end of a process that was killed, and record it."""
        popen = self._popen
        if popen:
            popen.wait()
            self.ended()

    def ended(self) -> int | None:
        """Its exit status if it ended unexpectedly since the last call, else None.

        Records the end.
        """
        with self._noting_end:  # The timeline and the conductor may both see it.
            if self._popen is None or self._popen.poll() is None:
                return None
            status = self._popen.returncode
            tolerated = self._tolerances > 0
            expected = self._end_expected or tolerated or status == 0
            self._popen = None
        killed = caps.memory_kills(self.spec.groups)
        self.memory_kills, self._killed_before = killed - self._killed_before, killed
        # A command that runs after the drain may print a verdict.
        keep_output = not expected or tolerated or self.spec.starts == "drain"
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
        shutil.copytree(file.source, path, dirs_exist_ok=True, symlinks=True, ignore=_sockets_among)
    elif file.source:
        shutil.copyfile(file.source, path)
    else:
        path.touch(0o600 if file.private else 0o666)
        path.write_text(file.text)
    if file.program:
        path.chmod(0o755)


def _sockets_among(folder: str, names: list[str]) -> list[str]:
    """The sockets of a folder: a killed server leaves its own, and it cannot be copied."""
    return [name for name in names if Path(folder, name).is_socket()]
