"""How a command ends: by a signal, without a folder to write to, with a folder in its way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from streambed.cli import startup
from streambed.cli.app import app
from streambed.declare import reading
from streambed.errors import StreambedError, UsageError
from streambed.runner import launcher
from tests.support.declare.samples import FIRST

SLOW = """
import sys, time
from streambed.cli import commands, main
commands.Command.load = lambda command: print("loading", flush=True) or time.sleep(60)
sys.argv = ["streambed", "list"]
main()
"""


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_in_the_first_second_is_one_line(number, status):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "loading\n"

    process.send_signal(number)
    _, output = process.communicate(timeout=30)

    assert (process.returncode, output) == (status, "interrupted\n")


def test_a_signal_that_is_ignored_stays_ignored():
    """As after nohup."""
    program = (
        "import signal; from streambed.cli import startup\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "startup.stop_in_order()\n"
        "print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, signal.getsignal(signal.SIGTERM))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout.startswith("True <function")


def test_a_stop_is_a_keyboard_interrupt_to_all_that_handle_one():
    with pytest.raises(KeyboardInterrupt) as stop:
        startup._stop(signal.SIGTERM, None)

    assert startup.end(stop.value) == 128 + signal.SIGTERM


def planned(folder: Path, into: Path) -> launcher.Plan:
    (folder / "first.yaml").write_text(FIRST)
    read = reading.read(folder / "first.yaml")
    return launcher.prepare(read.experiment, base=read.base, into=into)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_read_is_reported(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)

    with pytest.raises(StreambedError, match="cannot be made: Permission denied"):
        launcher._make_folder(Path(planned(tmp_path, closed / "runs").directory))


def test_runs_below_a_file_are_reported(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(StreambedError, match=r"cannot be made: Not a directory. Give another"):
        launcher._make_folder(Path(planned(tmp_path, tmp_path / "file").directory))


def test_a_refusal_of_the_folder_is_never_a_traceback(tmp_path, monkeypatch):
    exists = Path.exists

    def refuse(path: Path) -> bool:
        if path.is_relative_to(tmp_path / "closed"):
            raise PermissionError(13, "Permission denied")
        return exists(path)

    monkeypatch.setattr(Path, "exists", refuse)

    assert planned(tmp_path, tmp_path / "closed").name == "first"


def test_a_folder_called_latest_is_reported(tmp_path):
    (tmp_path / "first" / "latest").mkdir(parents=True)

    with pytest.raises(UsageError, match="latest is a folder, but it should be the link"):
        launcher._make_folder(Path(planned(tmp_path, tmp_path).directory))


def test_a_folder_is_no_declaration(tmp_path):
    done = CliRunner().invoke(app, ["plan", str(tmp_path)])

    assert isinstance(done.exception, StreambedError)
