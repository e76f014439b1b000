"""Spark's own history server, on the event logs that the jobs of a run left."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from streambed import artifacts
from streambed.artifacts.one_shot import die_with_parent
from streambed.errors import ProcessError, UsageError
from streambed.record import wait_until

MAIN = "org.apache.spark.deploy.history.HistoryServer"
LOOPBACK = "127.0.0.1"
START_LIMIT_S = 60
STOP_LIMIT_S = 10
ANSWER_LIMIT_S = 1.0


def event_logs(directory: Path) -> list[Path]:
    """The event logs of a run's jobs; UsageError if it has none."""
    files = [path for path in directory.glob("data/*/events/*") if path.is_file()]
    logs = sorted(path for path in files if not path.name.startswith("."))
    if not logs:
        raise UsageError(
            f"no Spark job of {directory} has left an event log, so there is no history to show"
        )
    return logs


@contextmanager
def history_server(directory: Path, port: int = 0) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start the server and yield its URL and process; port 0 means any free port."""
    logs = event_logs(directory)
    artifacts.demand("spark_job")
    port = port or _free_port()
    with tempfile.TemporaryDirectory(prefix="streambed-history-") as name:
        folder = Path(name)
        (folder / "events").mkdir()
        for log in logs:
            (folder / "events" / log.name).symlink_to(log.resolve())
        process = _start(folder, port)
        try:
            _await(process, port, folder / "log")
            yield f"http://{LOOPBACK}:{port}/", process
        finally:
            _end(process)


def _start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    settings = {
        "fs.logDirectory": (folder / "events").as_uri(),
        "ui.port": str(port),
        "fs.cleaner.enabled": "false",
    }
    flags = [
        *artifacts.SPARK_FLAGS,
        *(f"-Dspark.history.{key}={value}" for key, value in settings.items()),
    ]
    command = artifacts.spark_command(
        artifacts.find_java(), pyspark_home=artifacts.find_pyspark(), flags=flags, main=(MAIN,)
    )
    # Without SPARK_LOCAL_IP it would listen on all interfaces.
    environment = {**os.environ, "SPARK_LOCAL_IP": LOOPBACK}
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [*die_with_parent(), *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    answers = wait_until(
        lambda: process.poll() is not None or _answers(port), limit_s=START_LIMIT_S, step_s=0.1
    )
    if not answers or process.poll() is not None:
        last_lines = log.read_text(errors="replace").splitlines()[-8:]
        last = "".join(f"\n  | {line}" for line in last_lines)
        raise ProcessError(
            f"Spark's history server did not answer on port {port}. Its last lines:{last}"
        )


def _answers(port: int) -> bool:
    with closing(http.client.HTTPConnection(LOOPBACK, port, timeout=ANSWER_LIMIT_S)) as connection:
        try:
            connection.request("GET", "/api/v1/applications")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
