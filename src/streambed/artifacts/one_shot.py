"""Run a program once for the file it leaves behind, such as a class archive.

Folders are temporary, programs die with this process, and results appear under their name at once.
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

from streambed.artifacts import manifests
from streambed.artifacts.java import Java
from streambed.artifacts.jvm_commands import share_options
from streambed.artifacts.locked_jars import cache
from streambed.errors import ProcessError

ARCHIVES_MAX = 4
"""Most archives kept of one name: each is large, and serves one Java and one list of jars."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder on the file system of the archives, so that results can be renamed into place."""
    with tempfile.TemporaryDirectory(prefix="train-", dir=cache()) as name:
        yield Path(name)


def dump_classes_at_exit(command: list[str], java: Java, archive: Path) -> list[str]:
    """Add the options that make the JVM of `command` write the classes it loaded to `archive`."""
    return [
        command[0],
        f"-XX:ArchiveClassesAtExit={archive}",
        *share_options(java, archive),
        *command[1:],
    ]


def die_with_parent() -> list[str]:
    """The command prefix that kills a process when its parent dies; empty without setpriv.

    It covers the case in which this process is killed and cannot clean up.
    """
    if not shutil.which("setpriv"):
        return []
    return ["setpriv", "--pdeathsig", "KILL", "--"]


@contextmanager
def background_process(
    argv: Sequence[str], log: Path, variables: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process in a new session, so that Ctrl-C does not reach it; kill it after the block."""
    env = {**os.environ, **(variables or {})}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*die_with_parent(), *argv],
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


def run_to_end(
    argv: Sequence[str], log: Path, limit_s: float, variables: Mapping[str, str] | None = None
) -> None:
    """Run a program to its end; if it fails, the ProcessError quotes the last line of `log`."""
    with background_process(argv, log, variables) as process:
        if status := process.wait(limit_s):
            raise ProcessError(f"{log.stem} ended with status {status}: {last_line(log)}")


def publish(result: Path, path: Path) -> None:
    """Move a complete file to `path` and remove the oldest files of that name."""
    if not result.exists():
        raise ProcessError(f"Java wrote no {result.name}")
    result.chmod(0o644)
    os.replace(result, path)
    manifests.record(path)
    name = path.name.split("-")[0]
    versions = sorted(
        path.parent.glob(f"{name}-*{path.suffix}"), key=lambda version: version.stat().st_mtime
    )
    for old in versions[:-ARCHIVES_MAX]:
        manifests.remove(old)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that are free now."""
    with ExitStack() as held:
        servers = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(server.getsockname()[1]) for server in servers]


def listens(port: int) -> bool:
    """Whether a server accepts connections at a port of the loopback interface."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def last_line(log: Path) -> str:
    """The last line of a log that is not blank."""
    lines = log.read_text(errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")


def write(path: Path, text: str) -> Path:
    """Write a file and return its path."""
    path.write_text(text)
    return path
