"""Running programs once, to make something of what they leave: folders that go away, programs that
end with us, results kept whole.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from streambed.artifacts.java import Java
from streambed.artifacts.jvm_commands import sharing
from streambed.artifacts.locked_jars import cache
from streambed.errors import ProcessError

KEPT = 4
"""How many archives of a name are kept: each is large, and serves one Java and one list of jars."""


@contextmanager
def passing_folder() -> Iterator[Path]:
    """A folder that goes away again, on the same file system as the archives."""
    with tempfile.TemporaryDirectory(prefix="train-", dir=cache()) as name:
        yield Path(name)


def noting(command: list[str], java: Java, archive: Path) -> list[str]:
    """The same command, except that its JVM writes the classes it loaded when it exits."""
    return [
        command[0],
        f"-XX:ArchiveClassesAtExit={archive}",
        *sharing(java, archive),
        *command[1:],
    ]


def tied() -> list[str]:
    """What lets a process die with its parent, where the machine has it: killed without a word, we
    cannot end it ourselves.
    """
    return ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []


@contextmanager
def running(
    argv: Sequence[str], log: Path, variables: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process and its children, in a session of their own so that Ctrl-C reaches only us, and
    gone when we leave or die.
    """
    env = {**os.environ, **(variables or {})}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*tied(), *argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env=env,
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def finish(
    argv: Sequence[str], log: Path, limit_s: float, variables: Mapping[str, str] | None = None
) -> None:
    """Run a program to its end, with these variables; its last line tells why if it fails."""
    with running(argv, log, variables) as process:
        if status := process.wait(limit_s):
            raise ProcessError(f"{log.stem} ended with status {status}: {last_line(log)}")


def keep(made: Path, path: Path) -> None:
    """Let what was made be seen under its name, whole, and drop the oldest of that name."""
    if not made.exists():
        raise ProcessError(f"Java wrote no {made.name}")
    made.chmod(0o644)
    os.replace(made, path)
    alike = sorted(
        path.parent.glob(f"{path.name.split('-')[0]}-*{path.suffix}"),
        key=lambda other: other.stat().st_mtime,
    )
    for old in alike[:-KEPT]:
        old.unlink(missing_ok=True)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody has now."""
    with ExitStack() as held:
        servers = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(server.getsockname()[1]) for server in servers]


def listens(port: int) -> bool:
    """Whether somebody answers at a port of the loopback interface."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def last_line(log: Path) -> str:
    """The last that a program said."""
    lines = log.read_text(errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")


def write(path: Path, text: str) -> Path:
    """Write a file; its path again."""
    path.write_text(text)
    return path
